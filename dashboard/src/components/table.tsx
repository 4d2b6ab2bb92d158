import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import { messageOf } from "../api.ts";
import type { Pages } from "../data.ts";
import { WhenLoaded } from "./states.tsx";

/** A column: its title, and what it shows of a row. */
export interface Column<Row> {
  readonly title: string;
  readonly cell: (row: Row) => ComponentChildren;
  /** Numbers stand at the right. */
  readonly isNumber?: boolean;
  /** Left out on narrow screens. */
  readonly isSecondary?: boolean;
  /** Takes the width that is left. */
  readonly isWide?: boolean;
}

/** Which rows are ticked. */
export interface Selection {
  readonly ids: ReadonlySet<string>;
  change(ids: ReadonlySet<string>): void;
}

interface TableProps<Row> {
  /** Says what the table lists, for those who can't see it. */
  readonly label: string;
  readonly columns: readonly Column<Row>[];
  readonly rows: readonly Row[];
  idOf(row: Row): string;
  /** Opens a row: by click, or by Enter when it has the focus. */
  readonly open?: (row: Row) => void;
  readonly selection?: Selection;
  /** The id of the row that is open. */
  readonly openId?: string | undefined;
}

/** Rows under columns; `j` and `k` walk through them. */
export function Table<Row>(props: TableProps<Row>) {
  const { label, columns, rows, idOf, selection } = props;
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by key
    <section class="table-scroll" aria-label={label} tabIndex={0}>
      <table>
        <thead>
          <tr>
            {selection && (
              <th class="cell-select">
                <SelectAll ids={rows.map(idOf)} selection={selection} />
              </th>
            )}
            {columns.map((column) => (
              <th key={column.title} class={cellClass(column)} scope="col">
                {column.title}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <TableRow key={idOf(row)} row={row} {...props} />
          ))}
        </tbody>
      </table>
    </section>
  );
}

function TableRow<Row>({ row, columns, idOf, open, selection, openId }: TableProps<Row> & { row: Row }) {
  const id = idOf(row);
  const openByClick = (event: MouseEvent) => {
    if (!(event.target as Element).closest("a, button, input, label")) open?.(row);
  };
  const openByKey = (event: KeyboardEvent) => {
    if (event.key === "Enter" && event.target === event.currentTarget) open?.(row);
  };
  return (
    <tr
      data-row
      tabIndex={-1}
      class={`${open ? "row-opens" : ""} ${openId === id ? "row-open" : ""}`}
      onClick={openByClick}
      onKeyDown={openByKey}
    >
      {selection && (
        <td class="cell-select">
          <input
            type="checkbox"
            aria-label={`Select ${id}`}
            checked={selection.ids.has(id)}
            onChange={() => selection.change(toggled(selection.ids, id))}
          />
        </td>
      )}
      {columns.map((column) => (
        <td key={column.title} class={cellClass(column)}>
          {column.cell(row)}
        </td>
      ))}
    </tr>
  );
}

function SelectAll({ ids, selection }: { ids: readonly string[]; selection: Selection }) {
  const areAll = ids.length > 0 && ids.every((id) => selection.ids.has(id));
  return (
    <input
      type="checkbox"
      aria-label="Select all rows shown"
      checked={areAll}
      onChange={() => selection.change(new Set(areAll ? [] : ids))}
    />
  );
}

function toggled(ids: ReadonlySet<string>, id: string): ReadonlySet<string> {
  const next = new Set(ids);
  if (!next.delete(id)) next.add(id);
  return next;
}

function cellClass<Row>({ isNumber, isSecondary, isWide }: Column<Row>): string {
  const classes = [isNumber && "cell-number", isSecondary && "cell-secondary", isWide && "cell-wide"];
  return classes.filter(Boolean).join(" ");
}

interface PagedTableProps<Row> extends Omit<TableProps<Row>, "rows"> {
  readonly pages: Pages<Row>;
  /** Shown when there are no rows. */
  readonly empty: ComponentChildren;
}

/** A table of a list that is read page by page. */
export function PagedTable<Row>({ pages, empty, ...table }: PagedTableProps<Row>) {
  return (
    <WhenLoaded of={{ ...pages, data: pages.items }}>
      {(rows) =>
        rows.length === 0 ? (
          empty
        ) : (
          <>
            <Table rows={rows} {...table} />
            <More of={pages} />
          </>
        )
      }
    </WhenLoaded>
  );
}

/** The button that reads the next page, and what went wrong with it: the head of the list may be out of sight. */
export function More<Row>({ of: { more, isCut, error } }: { of: Pages<Row> }) {
  const [isReading, setIsReading] = useState(false);
  if (isCut) return <div class="more soft">The list goes on; no more of it is shown here.</div>;
  if (!more) return null;
  const onClick = async () => {
    setIsReading(true);
    await more();
    setIsReading(false);
  };
  return (
    <div class="more">
      <button type="button" class="button" disabled={isReading} onClick={onClick}>
        More
      </button>
      {error !== undefined && <span class="error-text">{messageOf(error)}</span>}
    </div>
  );
}
