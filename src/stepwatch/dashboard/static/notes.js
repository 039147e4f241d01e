// Tags, groups, notes and archived runs: kept in this browser, as nothing is changed in a run.

/** @param {() => string} place where the runs lie */
export function notesOf(place) {
  const key = () => `notes of ${place()}`;
  const all = () => {
    try {
      return JSON.parse(localStorage.getItem(key()) ?? "{}");
    } catch {
      return {};
    }
  };
  return {
    /** @param {string} name */
    get: (name) => all()[name] ?? {},
    /** @param {string} name @param {Record<string, any>} change */
    set(name, change) {
      const known = all();
      known[name] = { ...known[name], ...change };
      localStorage.setItem(key(), JSON.stringify(known));
    },
  };
}
