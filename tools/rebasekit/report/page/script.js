"use strict";
(() => {
  const $ = (id) => document.getElementById(id);
  const items = [...document.querySelectorAll(".hunks > li")];
  const rows = [...document.querySelectorAll(".timeline tbody tr")];
  const chips = [...document.querySelectorAll(".chip")];
  const texts = items.map((item) => item.textContent.toLowerCase());
  const state = { search: "", patch: "", words: new Set() };

  // A chosen filter is in the address, so that a link to the page keeps it.
  function read() {
    const kept = new URLSearchParams(location.hash.slice(1));
    state.search = kept.get("search") || "";
    state.patch = kept.get("patch") || "";
    state.words = new Set(kept.getAll("is"));
  }
  function write() {
    const kept = new URLSearchParams();
    if (state.search) kept.set("search", state.search);
    if (state.patch) kept.set("patch", state.patch);
    state.words.forEach((word) => kept.append("is", word));
    history.replaceState(null, "", kept.size ? "#" + kept : location.pathname + location.search);
  }

  function matches(item, index) {
    const words = item.dataset.words.split("|");
    const wanted = state.search.toLowerCase().split(/\s+/).filter(Boolean);
    return (!state.patch || item.dataset.patch === state.patch)
      && (!state.words.size || words.some((word) => state.words.has(word)))
      && wanted.every((word) => texts[index].includes(word));
  }

  function show() {
    let shown = 0;
    items.forEach((item, index) => { item.hidden = !matches(item, index); shown += item.hidden ? 0 : 1; });
    rows.forEach((row) => { row.hidden = Boolean(state.patch) && row.dataset.patch !== state.patch; });
    chips.forEach((chip) => chip.setAttribute("aria-pressed", String(state.words.has(chip.dataset.word))));
    $("search").value = state.search;
    $("patch").value = state.patch;
    const all = shown === items.length;
    $("shown").textContent = all ? `${shown} hunks` : `${shown} of ${items.length} hunks`;
    $("clear").hidden = !(state.search || state.patch || state.words.size);
    $("none").hidden = shown > 0;
    label();
  }
  function change() { write(); show(); }
  function clear() { state.search = state.patch = ""; state.words.clear(); change(); }

  const visible = () => items.filter((item) => !item.hidden);
  const unfolded = () => visible().every((item) => item.querySelector("details").open);
  function label() { $("unfold").textContent = unfolded() ? "close all" : "open all"; }
  function unfold() {
    const open = !unfolded();
    visible().forEach((item) => { item.querySelector("details").open = open; });
    label();
  }
  function step(by) {
    const list = visible();
    const at = list.findIndex((item) => item.contains(document.activeElement));
    const next = list[at < 0 ? (by > 0 ? 0 : list.length - 1) : Math.min(list.length - 1, Math.max(0, at + by))];
    if (next) { next.querySelector("summary").focus(); next.scrollIntoView({ block: "nearest" }); }
  }

  $("search").addEventListener("input", (event) => { state.search = event.target.value; change(); });
  $("patch").addEventListener("change", (event) => { state.patch = event.target.value; change(); });
  chips.forEach((chip) => chip.addEventListener("click", () => {
    const word = chip.dataset.word;
    state.words.has(word) ? state.words.delete(word) : state.words.add(word);
    change();
  }));
  $("clear").addEventListener("click", () => { clear(); $("search").focus(); });
  $("unfold").addEventListener("click", unfold);
  document.querySelector(".filters").addEventListener("submit", (event) => event.preventDefault());
  document.addEventListener("toggle", label, true);
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === "Escape") { clear(); document.activeElement.blur(); return; }
    if (/^(input|select|textarea)$/i.test(event.target.tagName)) return;
    const act = { "/": () => { $("search").focus(); $("search").select(); }, j: () => step(1), k: () => step(-1), o: unfold }[event.key];
    if (act) { event.preventDefault(); act(); }
  });
  window.addEventListener("hashchange", () => { if (location.hash.includes("=")) { read(); show(); } });
  read();
  show();
})();
