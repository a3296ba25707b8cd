// Plots: a line over an area for one dimension, two maps with a common colour scale for two dimensions.

const ABOVE = ["#f7f7f5", "#56b4e9", "#0072b2", "#00263c"].map(channels);
const BELOW = ["#f7f7f5", "#e69f00", "#d55e00", "#571f00"].map(channels);

function channels(colour) {
  return [1, 3, 5].map((place) => parseInt(colour.slice(place, place + 2), 16));
}

// Red, green and blue for a number from -1 to 1: nearly white at 0, darker blue above it, darker orange below.
function heat(share) {
  const stops = share < 0 ? BELOW : ABOVE;
  const place = Math.min(1, Math.abs(share)) * (stops.length - 1);
  const first = Math.min(Math.floor(place), stops.length - 2);
  return stops[first].map((start, channel) => start + (stops[first + 1][channel] - start) * (place - first));
}

// The place of a number on an axis, and the inverse; symmetric about zero.
const SCALES = {
  linear: { to: (size) => size, from: (place) => place },
  root: { to: Math.sqrt, from: (place) => place * place },
  logarithm: { to: Math.log1p, from: Math.expm1 },
};

function stretch(value, scale) {
  return Math.sign(value) * SCALES[scale].to(Math.abs(value));
}

function greatest(values) {
  return values.reduce((most, value) => Math.max(most, value), 0);
}

function element(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...children.filter((child) => child !== null && child !== undefined));
  return made;
}

function vector(name, attributes = {}, text = "") {
  const made = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.textContent = text;
  return made;
}

// A number for display: three digits, or all digits before the decimal point.
function figure(value) {
  if (value === null || value === undefined) return "–";
  if (value === 0) return "0";
  if (Math.abs(value) < 1e-4 || Math.abs(value) >= 1e9) return value.toExponential(2).replace("-", "−");
  const three = { minimumSignificantDigits: 3, maximumSignificantDigits: 3 };
  return value.toLocaleString("en", Math.abs(value) < 99.95 ? three : { maximumFractionDigits: 0 }).replace("-", "−");
}

// A number rounded to three digits, without trailing zeros.
function plain(value) {
  return Number(value.toPrecision(3)).toLocaleString("en", { maximumSignificantDigits: 3 }).replace("-", "−");
}

// Round numbers between low and high that are at least so many pixels apart; smaller ones too if they have room.
function ticks(low, high, scale, place, apart) {
  const power = 10 ** Math.floor(Math.log10(Math.max(high, -low) || 1));
  let found = [0];
  if (scale !== "linear") {
    const powers = [...Array(9).keys()].map((step) => power / 10 ** step);
    const sizes = scale === "root" ? powers.flatMap((size) => [size, 3 * size]) : powers;
    for (const value of sizes.flatMap((size) => [size, -size])) {
      const free = found.every((other) => Math.abs(place(other) - place(value)) >= apart);
      if (value >= low && value <= high && free) found.push(value);
    }
    return found;
  }
  for (const step of [5, 2, 1, 0.5, 0.2].map((one) => one * power)) {
    if (Math.abs(place(step) - place(0)) < apart) break;
    found = [];
    for (let count = Math.ceil(low / step); count * step <= high; count += 1) found.push(count * step);
  }
  return found;
}

function steppedPath(values, across, up, closed) {
  let path = closed ? `M${across(0).toFixed(1)},${up(0).toFixed(1)}` : "";
  values.forEach((value, cell) => {
    path += `${path ? "L" : "M"}${across(cell).toFixed(1)},${up(value).toFixed(1)}H${across(cell + 1).toFixed(1)}`;
  });
  return closed ? `${path}V${up(0).toFixed(1)}Z` : path;
}

// The original as an area, the estimate as a line on top of it; the vertical axis covers both.
function drawLine(room, data, estimate, scale, words, tell) {
  const width = Math.max(280, room.clientWidth || 720), height = Math.round(Math.min(430, Math.max(230, width * 0.52)));
  const left = 58, right = 8, top = 10, bottom = 40;
  const high = greatest(data.shown.concat(estimate)) * 1.04 || 1;
  const low = Math.min(0, -greatest(estimate.map((value) => -value)) * 1.04);
  const ends = [stretch(low, scale), stretch(high, scale)];
  const up = (value) => top + (height - top - bottom) * (1 - (stretch(value, scale) - ends[0]) / (ends[1] - ends[0]));
  const across = (cell) => left + ((width - left - right) * cell) / data.shown.length;
  const drawing = vector("svg", { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": words });
  for (const value of ticks(low, high, scale, up, 26)) {
    drawing.append(
      vector("line", { class: value ? "grid" : "axis", x1: left, x2: width - right, y1: up(value), y2: up(value) }),
      vector("text", { x: left - 6, y: up(value) + 4, "text-anchor": "end" }, plain(value)),
    );
  }
  drawing.append(vector("path", { class: "area", d: steppedPath(data.shown, across, up, true) }));
  drawing.append(vector("path", { class: "curve", d: steppedPath(estimate, across, up, false) }));
  const cells = data.domain[0];
  for (const part of [0, 0.25, 0.5, 0.75, 1]) {
    const x = left + (width - left - right) * part;
    const anchor = part === 0 ? "start" : part === 1 ? "end" : "middle";
    const words = Math.round(cells * part).toLocaleString("en");
    drawing.append(vector("text", { x, y: height - bottom + 18, "text-anchor": anchor }, words));
  }
  const middle = left + (width - left - right) / 2;
  drawing.append(vector("text", { x: middle, y: height - 4, "text-anchor": "middle" }, "cell"));
  drawing.addEventListener("pointermove", (event) => {
    const frame = drawing.getBoundingClientRect(), x = ((event.clientX - frame.left) * width) / frame.width;
    tell(Math.floor(((x - left) * data.shown.length) / (width - left - right)));
  });
  room.append(drawing);
}

// One map: a pixel for each cell, coloured by its ratio to the highest original count.
function paint(canvas, values, shape, most, scale) {
  canvas.width = shape[1];
  canvas.height = shape[0];
  const context = canvas.getContext("2d"), image = context.createImageData(shape[1], shape[0]);
  values.forEach((value, cell) => {
    const colour = heat(stretch(value, scale) / stretch(most, scale));
    for (let channel = 0; channel < 3; channel += 1) image.data[4 * cell + channel] = colour[channel];
    image.data[4 * cell + 3] = 255;
  });
  context.putImageData(image, 0, 0);
  canvas.style.aspectRatio = `${shape[1]} / ${shape[0]}`;
}

function drawMaps(room, data, estimate, scale, names, tell) {
  const most = greatest(data.shown) || 1, maps = element("div", { class: "maps" });
  [data.shown, estimate].forEach((values, number) => {
    const canvas = element("canvas", { role: "img", "aria-label": `map: ${names[number]}` });
    paint(canvas, values, data.shape, most, scale);
    canvas.addEventListener("pointermove", (event) => {
      const frame = canvas.getBoundingClientRect();
      const row = Math.floor(((event.clientY - frame.top) * data.shape[0]) / frame.height);
      tell(row * data.shape[1] + Math.floor(((event.clientX - frame.left) * data.shape[1]) / frame.width));
    });
    maps.append(element("figure", {}, element("figcaption", {}, names[number]), canvas));
  });
  const ramp = element("canvas", { "aria-hidden": "true" });
  const steps = [...Array(255).keys()].map((step) => (step - 127) / 127);
  paint(ramp, steps, [1, 255], 1, "linear");
  ramp.style.aspectRatio = "auto";
  const marks = [-1, -0.5, 0, 0.5, 1].map((share) => {
    const value = Math.sign(share) * SCALES[scale].from(Math.abs(share) * stretch(most, scale));
    const ends = share === -1 ? "≤ " : share === 1 ? "≥ " : "";
    return element("span", {}, ends + plain(value));
  });
  room.append(maps, element("div", { class: "ramp" }, ramp, element("div", {}, ...marks)));
}

// A small plot of the estimate, in one dimension over the original; all are on the scale of the original.
function drawSmall(canvas, data, estimate, scale) {
  const most = greatest(data.shown) || 1;
  if (data.shape.length === 2) {
    paint(canvas, estimate, data.shape, most, scale);
    return;
  }
  const width = 360, height = 160, context = canvas.getContext("2d");
  canvas.width = width;
  canvas.height = height;
  canvas.style.aspectRatio = `${width} / ${height}`;
  const low = -0.25, high = 1.15, whole = stretch(most, scale);
  const within = (share) => Math.min(high, Math.max(low, share));
  const up = (value) => height * (1 - (within(stretch(value, scale) / whole) - low) / (high - low));
  const across = (cell) => (width * cell) / data.shown.length;
  context.fillStyle = "#fff";
  context.fillRect(0, 0, width, height);
  context.fillStyle = "rgb(86 180 233 / 70%)";
  context.fill(new Path2D(steppedPath(data.shown, across, up, true)));
  context.strokeStyle = "#83888f";
  context.strokeRect(-1, up(0), width + 2, 0);
  context.strokeStyle = "#d55e00";
  context.lineWidth = 2;
  context.stroke(new Path2D(steppedPath(estimate, across, up, false)));
}
