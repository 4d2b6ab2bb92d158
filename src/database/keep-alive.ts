/**
 * A server that vanishes without a word is noticed within half a minute: probes begin after ten seconds of
 * silence. With the system's own default they begin after two hours, and so long would a statement wait.
 */
export const keepAlive = { keepAlive: true, keepAliveInitialDelayMillis: 10_000 };
