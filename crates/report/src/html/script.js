"use strict";
(() => {
  // The theme: as the system has it, until a reader chooses. Storage may be closed to files.
  const root = document.documentElement;
  const themes = ["auto", "light", "dark"];
  const read = () => { try { return localStorage.getItem("coalesce-theme"); } catch { return null; } };
  const keep = (theme) => { try { localStorage.setItem("coalesce-theme", theme); } catch { /* not kept */ } };
  const button = document.createElement("button");
  button.type = "button";
  button.className = "theme";
  const wear = (theme) => {
    if (theme === "auto") delete root.dataset.theme; else root.dataset.theme = theme;
    button.textContent = `Theme: ${theme}`;
    button.dataset.theme = theme;
  };
  wear(themes.includes(read()) ? read() : "auto");
  button.addEventListener("click", () => {
    const next = themes[(themes.indexOf(button.dataset.theme) + 1) % themes.length];
    wear(next);
    keep(next);
  });
  document.querySelector(".top")?.append(button);

  // An anchor within something closed opens it.
  const open = () => {
    const target = location.hash.length > 1 && document.getElementById(decodeURIComponent(location.hash.slice(1)));
    if (!target) return;
    let closed = false;
    for (let at = target; at; at = at.parentElement) {
      if (at.tagName === "DETAILS" && !at.open) { at.open = true; closed = true; }
    }
    if (closed) target.scrollIntoView({ block: "start" });
  };
  addEventListener("hashchange", open);
  open();

  // A line of source and the instructions that it became light up together, under the pointer and under the focus.
  for (const panes of document.querySelectorAll(".panes")) {
    let lit = [];
    const light = (event) => {
      const from = event.target.closest("[data-line]");
      for (const one of lit) one.classList.remove("lit");
      lit = from ? [...panes.querySelectorAll(`[data-line="${from.dataset.line}"]:not(.heat)`)] : [];
      for (const one of lit) one.classList.add("lit");
      const pane = from?.closest(".pane");
      for (const other of panes.querySelectorAll(".code")) {
        const first = other.querySelector(".lit");
        if (!pane || pane.contains(other) || !first) continue;
        const [top, bottom] = [first.offsetTop - other.offsetTop, first.offsetTop - other.offsetTop + first.offsetHeight];
        if (top < other.scrollTop || bottom > other.scrollTop + other.clientHeight) {
          other.scrollTop = Math.max(0, top - other.clientHeight / 4);
        }
      }
    };
    panes.addEventListener("pointerover", light);
    panes.addEventListener("focusin", light);
    panes.addEventListener("pointerleave", light);
  }
})();
