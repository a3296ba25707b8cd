// The view: everything is drawn from the state, and redrawn when the state changes.

function choose(changes) {
  Object.assign(state, changes);
  show();
  history.replaceState(null, "", address());
}

function fill(name, values, words = (value) => value) {
  const list = at(name);
  list.replaceChildren(...values.map((value) => element("option", { value }, words(value))));
  list.value = state[name];
}

function tags(case_, name) {
  return [
    name === case_.best ? element("span", { class: "tag is-best" }, "best") : null,
    name === case_.recommendation.algorithm ? element("span", { class: "tag is-choice" }, "chosen") : null,
    name === PAGE.chooser ? element("span", { class: "minor" }, " runs its choice") : null,
  ];
}

function placesAt(word, place, together) {
  const first = Math.ceil(place * together), last = Math.ceil((place + 1) * together) - 1;
  return first < last ? `${word}s ${first} to ${last}` : `${word} ${first}`;
}

function showPicture(case_, data, scale) {
  const room = at("picture"), name = state.algorithm, estimate = estimateOf(name);
  const words = `estimate by ${name} at ${budget(state.epsilon)}`;
  at("title").textContent = `${name} on ${data.name} at ${budget(state.epsilon)}`;
  const size = data.domain.map((side) => side.toLocaleString("en")).join(" × ");
  const drawn = data.drawn ? " drawn from the data set" : "";
  const asked = PAGE.words[case_.workload];
  at("about").textContent = `${data.rows.toLocaleString("en")} rows${drawn} on ${size} cells; workload: ${asked}.`;
  room.replaceChildren();
  at("caption").textContent = at("reading").textContent = "";
  if (!estimate) {
    room.append(element("p", { class: "nothing" }, `${name} gave no estimate: ${outcomeOf(case_, name).failure}`));
    return;
  }
  const together = data.domain.map((side, axis) => side / data.shape[axis]);
  const merged = together.some((one) => one > 1);
  const tell = (place) => {
    if (place < 0 || place >= estimate.length) return;
    const columns = data.shape[1], where = data.shape.length === 1
      ? [placesAt("cell", place, together[0])]
      : [placesAt("row", Math.floor(place / columns), together[0]), placesAt("column", place % columns, together[1])];
    at("reading").textContent = `${where.join(", ")}: original ${plain(data.shown[place])}, estimate ${plain(estimate[place])}`;
  };
  if (data.shape.length === 1) {
    const original = element("span", {}, element("i", { class: "is-original" }), "original data");
    const curve = element("span", {}, element("i", { class: "is-estimate" }), words);
    room.append(element("p", { class: "legend" }, original, curve));
    drawLine(room, data, estimate, scale, `The original data ${data.name} and the ${words}`, tell);
    const cells = merged ? `${plain(together[0])} neighbouring cells together` : "a cell";
    at("caption").textContent = `Vertical axis: rows in ${cells}.`;
  } else {
    drawMaps(room, data, estimate, scale, ["original data", words], tell);
    const cells = merged ? ` ${together.map(plain).join(" × ")} cells are shown together.` : "";
    at("caption").textContent = `Rows in a cell, on one scale for both; estimates below zero are orange.${cells}`;
  }
}

function card(kind, title, name, ...lines) {
  const texts = lines.filter(Boolean).map((line) => element("dd", {}, line));
  return element("div", { class: kind }, element("dt", {}, title), element("dd", { class: "name" }, name), ...texts);
}

function errorWords(case_, name) {
  const one = outcomeOf(case_, name);
  if (!one) return "not among those compared";
  return one.error === null ? "failed" : `error ${figure(one.error)}, regret ${figure(one.regret)}`;
}

function oftenWords(recommendation) {
  const times = Object.values(recommendation.choices), looks = times.reduce((sum, one) => sum + one, 0);
  return `chosen in ${times[0]} of ${looks} runs`;
}

function showVerdict(case_) {
  const advice = case_.recommendation, choice = advice.algorithm, title = "The selector's choice";
  at("verdict").replaceChildren(
    card("is-shown", "Shown", state.algorithm, errorWords(case_, state.algorithm)),
    choice
      ? card("is-choice", title, choice, errorWords(case_, choice), oftenWords(advice))
      : card("is-choice", title, "none", advice.failure),
    card("is-best", "Truly best", case_.best || "none", case_.best ? errorWords(case_, case_.best) : "all failed"),
  );
}

function pickButton(name, ...children) {
  const pressed = String(name === state.algorithm);
  const button = element("button", { type: "button", "data-place": name, "aria-pressed": pressed }, ...children);
  button.addEventListener("click", () => choose({ algorithm: name }));
  return button;
}

function showRanking(case_) {
  const most = Math.log(greatest(case_.outcomes.map((one) => one.regret || 0)) || 1) || 1;
  at("ranking-title").textContent = `All ${case_.outcomes.length} algorithms by error`;
  at("ranking-about").textContent = `${PAGE.words[case_.workload]} of ${case_.dataset}, ${budget(case_.epsilon)}`;
  const rows = case_.outcomes.map((one) => {
    const selected = one.algorithm === state.algorithm;
    const button = pickButton(one.algorithm, one.algorithm);
    const named = element("td", {}, button, ...tags(case_, one.algorithm));
    const row = element("tr", selected ? { class: "selected" } : {}, named);
    if (one.error === null) {
      row.append(element("td", { colspan: "3", class: "minor" }, `failed: ${one.failure}`));
      return row;
    }
    const width = (100 * Math.max(0, Math.log(one.regret || 1))) / most;
    const spread = one.standard_error > one.error / 1000 ? ` ± ${plain(Number(one.standard_error.toPrecision(2)))}` : "";
    row.append(
      element("td", { class: "number" }, figure(one.error), element("span", { class: "minor spread" }, spread)),
      element("td", { class: "number" }, one.regret === null ? "∞" : figure(one.regret)),
      element("td", { class: "bars" }, element("span", { class: "bar", style: `width:${width.toFixed(1)}%` })),
    );
    return row;
  });
  at("ranking").replaceChildren(...rows);
}

function showAll(case_, data, scale) {
  at("all-title").textContent = `All algorithms on ${data.name} at ${budget(state.epsilon)}`;
  at("all-about").textContent = data.shape.length === 1
    ? "By error, the least first; each over the original data. All have the same scale, and are clipped at the frame."
    : "By error, the least first; all with the colour scale of the original data.";
  const items = case_.outcomes.map((one) => {
    const estimate = estimateOf(one.algorithm), canvas = element("canvas", { "aria-hidden": "true" });
    if (estimate) drawSmall(canvas, data, estimate, scale);
    const words = one.error === null ? "failed" : one.regret === null ? "regret ∞" : `regret ${figure(one.regret)}`;
    const name = element("b", {}, one.algorithm), regret = element("span", { class: "minor" }, words);
    const inside = [estimate ? canvas : null, name, regret, ...tags(case_, one.algorithm)];
    return element("li", {}, pickButton(one.algorithm, ...inside));
  });
  at("all").replaceChildren(...items);
}

function showAdvice() {
  at("advice-title").textContent = `The selector's choice compared with the best, on ${state.dataset}`;
  const cases = casesOf(state.dataset), names = different(cases.map((one) => one.workload));
  const rows = names.flatMap((name) => cases.filter((one) => one.workload === name)).map((one) => {
    const advice = one.recommendation, times = Object.values(advice.choices);
    const best = outcomeOf(one, one.best), chooser = outcomeOf(one, PAGE.chooser);
    const here = one.workload === state.workload && one.epsilon === state.epsilon;
    const there = address({ workload: one.workload, epsilon: one.epsilon });
    const link = element("a", { href: there, "data-place": key(one.workload, one.epsilon) }, one.workload);
    const number = (text) => element("td", { class: "number" }, text);
    return element(
      "tr", here ? { class: "selected", "aria-current": "true" } : {},
      element("td", {}, link), number(one.epsilon), element("td", {}, advice.algorithm || "none"),
      number(times.length ? `${times[0]} of ${PAGE.looks}` : "–"), number(figure(advice.regret)),
      element("td", {}, one.best || "none"), number(figure(best?.error)), number(figure(chooser?.regret)),
    );
  });
  at("advice").replaceChildren(...rows);
}

// Restores the focus after redrawing.
function keepFocus(draw) {
  const focused = document.activeElement, place = focused?.dataset.place;
  const list = focused?.closest("#ranking, #all, #advice");
  draw();
  if (list && place) list.querySelector(`[data-place="${CSS.escape(place)}"]`)?.focus({ preventScroll: true });
}

function show() {
  keepFocus(draw);
}

function draw() {
  settle();
  const case_ = current(), data = DATA.get(state.dataset), cases = casesOf(state.dataset), scale = scaleNow();
  fill("dataset", [...DATA.keys()]);
  fill("epsilon", different(cases.map((one) => one.epsilon)));
  fill("workload", different(cases.map((one) => one.workload)), (name) => `${name}: ${PAGE.words[name]}`);
  fill("algorithm", case_.outcomes.map((one) => one.algorithm).sort());
  at("scale").value = scale;
  showPicture(case_, data, scale);
  showVerdict(case_);
  showRanking(case_);
  showAll(case_, data, scale);
  showAdvice();
}

for (const name of CONTROLS) at(name).addEventListener("change", (event) => choose({ [name]: event.target.value }));
at("controls").addEventListener("submit", (event) => event.preventDefault());
addEventListener("hashchange", () => { readAddress(); show(); });
let lastWidth = innerWidth;
addEventListener("resize", () => {
  if (innerWidth !== lastWidth) show();
  lastWidth = innerWidth;
});
document.querySelector("main").hidden = false;
readAddress();
show();
