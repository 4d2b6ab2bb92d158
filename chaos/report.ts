export async function writeReport(_files: readonly string[]): Promise<void> {}
