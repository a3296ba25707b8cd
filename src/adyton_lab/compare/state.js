// The data of the page, and its state, which is kept in the address.

const PAGE = JSON.parse(document.getElementById("data").textContent);
const CONTROLS = ["dataset", "epsilon", "workload", "algorithm", "scale"];
const key = (...parts) => JSON.stringify(parts);
const CASES = new Map(PAGE.cases.map((one) => [key(one.dataset, one.epsilon, one.workload), one]));
const DATA = new Map(PAGE.datasets.map((one) => [one.name, one]));
const ESTIMATES = new Map(
  PAGE.estimates.map((one) => [key(one.dataset, one.epsilon, one.algorithm, one.workload), one.shown]),
);
const at = (id) => document.getElementById(id);
const state = { dataset: null, epsilon: null, workload: null, algorithm: null, scale: null };

const casesOf = (dataset) => PAGE.cases.filter((one) => one.dataset === dataset);
const budget = (epsilon) => `ε\u00a0=\u00a0${epsilon}`;
const different = (values) => [...new Set(values)];
const current = () => CASES.get(key(state.dataset, state.epsilon, state.workload));
const outcomeOf = (case_, name) => case_.outcomes.find((one) => one.algorithm === name);

function estimateOf(name) {
  const place = [state.dataset, state.epsilon, name];
  return ESTIMATES.get(key(...place, state.workload)) || ESTIMATES.get(key(...place, null));
}

// A scale on which the median nonzero value is visible.
function usualScale(data) {
  const present = data.shown.filter((value) => value > 0).sort((one, other) => one - other);
  const part = present.length ? present[Math.floor(present.length / 2)] / present[present.length - 1] : 1;
  return part > 1 / 25 ? "linear" : part > 1 / 500 ? "root" : "logarithm";
}

function allowed(name, values, otherwise) {
  if (!values.includes(state[name])) state[name] = otherwise;
}

// Keeps the requested values that exist, and replaces the others by the most interesting ones.
function settle() {
  allowed("dataset", [...DATA.keys()], PAGE.datasets[0].name);
  const cases = casesOf(state.dataset), budgets = different(cases.map((one) => one.epsilon));
  allowed("epsilon", budgets, budgets[Math.floor((budgets.length - 1) / 2)]);
  allowed("workload", different(cases.map((one) => one.workload)), cases[0].workload);
  const names = current().outcomes.map((one) => one.algorithm);
  allowed("algorithm", names, current().best || names[0]);
}

function scaleNow() {
  return Object.hasOwn(SCALES, state.scale ?? "") ? state.scale : usualScale(DATA.get(state.dataset));
}

function address(changes = {}) {
  const wanted = Object.entries({ ...state, ...changes }).filter(([, value]) => value !== null);
  return `#${new URLSearchParams(wanted)}`;
}

function readAddress() {
  const asked = new URLSearchParams(location.hash.slice(1));
  for (const name of CONTROLS) state[name] = asked.get(name) ?? state[name];
}
