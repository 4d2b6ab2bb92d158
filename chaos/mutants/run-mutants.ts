export async function runMutants(
  _which: string | undefined,
  _tell: (line: string) => void,
): Promise<boolean> {
  return true;
}
