/** The handlers that compose.yaml runs, to begin with. `import { PermanentError } from "tallyman"` works here too. */
export const domain = "orders";

export const handlers = {
  Ship: ({ data }) => ({ shipped: data }),
};
