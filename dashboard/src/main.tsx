/**
 * The dashboard: the whole fleet on one page, and safe ways to act on it.
 *
 * **Model.** A screen asks the API for what it shows (`useData`, `usePages`) and names the live topics that tell of
 * changes; an event makes it ask again. So a screen has one way to its data, with the viewer's own rights, and a lost
 * connection costs nothing but freshness. What a screen shows is in its address: filters, the opened item, the tick.
 *
 * **Actions** go through one dialog that says how much would change and asks for a reason; the result is told.
 *
 * **Safety.** Everything from outside is rendered as text. The page speaks only HTTP with its own server.
 */
import { render } from "preact";
import "uplot/dist/uPlot.min.css";
import "./styles/index.css";
import { App } from "./app.tsx";
import { listenToKeys } from "./keyboard.ts";
import { listenToNavigation } from "./router.ts";
import { readSession } from "./session.ts";

const root = document.getElementById("app");
if (root) {
  listenToNavigation();
  listenToKeys();
  render(<App />, root);
  void readSession();
}
