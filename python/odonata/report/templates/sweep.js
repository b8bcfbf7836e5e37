// A sweep: a metric over a setting, in a color for each value of another, with confidence intervals.
"use strict";
odonata.kinds.sweep = (spec, values) => {
  const { rows, units, axes, t } = spec.data, { x, y, by } = values;
  const plain = (name) => String(name).replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
  // Names of points are sentences: as lines of some 24 letters they fit below a point.
  const lines24 = (name) => plain(name).split(" ").reduce((text, word) => {
    const last = text.slice(text.lastIndexOf("<br>") + 1);
    return text + (text === "" ? "" : last.length + word.length > 24 ? "<br>" : " ") + word;
  }, "");
  const kept = Object.entries(values).filter(([name]) => name.startsWith("only:")).map(([name, value]) => [name.slice(5), value]).filter(([name]) => name !== x && name !== by);
  // Rows of different settings are no replications of each other.
  const mixed = kept.some(([name, wanted]) => wanted === "" && new Set(rows[name]).size > 1);
  const lines = new Map();
  rows[y].forEach((value, row) => {
    if (value === null || !kept.every(([name, wanted]) => wanted === "" || String(rows[name][row]) === wanted)) return;
    const line = by === x ? "" : rows[by][row], place = rows[x][row];
    if (!lines.has(line)) lines.set(line, new Map());
    const points = lines.get(line);
    if (!points.has(place)) points.set(place, []);
    points.get(place).push(value);
  });
  const numbers = rows[x].every((value) => typeof value === "number");
  const suffix = (name) => ({ s: "s", bytes: "B", "bytes/s": "B/s" })[units[name]] ?? "";
  const unit = suffix(y), unitAcross = suffix(x);
  const text = (name, value) => spec.data.texts[name]?.[String(value)] ?? String(value);
  const traces = [...lines].map(([line, points], number) => {
    const places = [...points.keys()];
    if (numbers) places.sort((a, b) => a - b);
    const statistics = places.map((place) => {
      const all = points.get(place), count = all.length, mean = all.reduce((sum, one) => sum + one, 0) / count;
      const deviation = count > 1 ? Math.sqrt(all.reduce((sum, one) => sum + (one - mean) ** 2, 0) / (count - 1)) : 0;
      const quantile = count - 2 < t.length ? t[count - 2] : 1.96 + 2.5 / count;
      return { mean, half: count > 1 && !mixed ? (quantile * deviation) / Math.sqrt(count) : null, count };
    });
    return {
      type: "scatter", mode: numbers ? "lines+markers" : "markers", name: plain(by === x ? spec.data.words[y] : text(by, line)), color: number,
      x: numbers ? places : places.map(lines24), y: statistics.map((one) => one.mean), marker: { size: 7 }, yunit: unit,
      error_y: { type: "data", array: statistics.map((one) => one.half), thickness: 1.4, width: 5 },
      ...(numbers ? {} : { offsetgroup: String(number) }),
      customdata: statistics.map((one) => `${one.count} replication${one.count > 1 ? "s" : ""}` + (one.half === null ? "" : `, ± ${one.half.toPrecision(3)}${unit}`)),
      hovertemplate: `${plain(x)} %{x${numbers && unitAcross ? ":.4~s" : ""}}${numbers ? unitAcross : ""}: %{y:.4~s}${unit}<br>%{customdata}<extra>${plain(by === x ? "" : text(by, line))}</extra>`,
    };
  });
  const log = values.scale === "log";
  // What cannot be negative is not drawn as if it could, however long its bar is.
  const positive = traces.every((trace) => trace.y.every((mean) => mean >= 0));
  return { traces, layout: {
    xaxis: { title: { text: plain(x) }, type: numbers ? "linear" : "category", ...(numbers && unitAcross ? { ticksuffix: unitAcross, exponentformat: "SI", minexponent: 1 } : {}) },
    yaxis: { title: { text: plain(spec.data.words[y]) }, exponentformat: "SI", minexponent: 1, ...(log ? { type: "log" } : { rangemode: "tozero", ...(positive ? { autorangeoptions: { clipmin: 0 } } : {}) }) },
    // Points of one place stand side by side.
    ...(numbers ? {} : { scattermode: "group", scattergap: 0.6 }),
    showlegend: by !== x,
  } };
};
