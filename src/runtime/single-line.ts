const controlCharacter = /[\p{Cc}\u2028\u2029]/gu;

/**
 * The text on one line: line breaks and every other control character (colour codes of a hostile payload
 * among them) are written as escapes.
 */
export function singleLine(text: string): string {
  return text.replace(controlCharacter, (character) => {
    const short = JSON.stringify(character).slice(1, -1);
    return short === character ? `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}` : short;
  });
}
