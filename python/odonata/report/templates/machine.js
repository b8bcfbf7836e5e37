// The map of the machine: routers as squares, a row for each group, and the hottest links as lines between them.
"use strict";
odonata.kinds.machine = (spec, values, look) => {
  const data = spec.data, measure = values.measure;
  const classes = values.class === "" ? data.classes.map((_, number) => number) : [data.classes.indexOf(values.class)];
  const whole = data.simulated_s;
  const percent = (part) => `${(100 * part).toFixed(part < 0.1 ? 1 : 0)}%`;
  const seconds = (value) => {
    for (const [scale, unit] of [[1, "s"], [1e-3, "ms"], [1e-6, "µs"], [1e-9, "ns"]]) if (value >= scale) return `${(value / scale).toPrecision(3)} ${unit}`;
    return `${value.toPrecision(3)} s`;
  };
  const words = { busy: "busy", saturation: "saturated", waits: "waited" };
  const text = (value) => (measure === "waits" ? seconds(value) : percent(value));
  const plain = (name) => name.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");

  const victim = values.victim ?? "", culprit = values.culprit ?? "";
  const counts = (from, by) =>
    (victim === "" || from === Number(victim)) &&
    (culprit === "" || (culprit === "other" ? from !== by : by === Number(culprit)));
  const job = (number) => (number < 0 ? "another or unknown" : plain(data.jobs[number]));

  const routers = new Array(data.group.length).fill(0);
  if (measure === "waits") {
    for (const [router, name, from, by, waited] of data.waits) if (classes.includes(name) && counts(from, by)) routers[router] += waited;
  } else {
    for (const name of classes) data.routers[measure][data.classes[name]].forEach((value, router) => { routers[router] = Math.max(routers[router], value); });
  }

  const hot = [];
  for (const [name, kind, source, target, busy, saturation, bytes, waits] of data.links) {
    if (!classes.includes(kind)) continue;
    const pairs = waits.filter(([from, by]) => counts(from, by)).sort((a, b) => b[2] - a[2]);
    const value = measure === "waits" ? pairs.reduce((sum, pair) => sum + pair[2], 0) : measure === "busy" ? busy : saturation;
    if (value > 0) hot.push({ name, kind, source, target, busy, saturation, bytes, pairs, value });
  }
  hot.sort((a, b) => b.value - a.value);
  const lines = hot.filter((link) => link.target >= 0).slice(0, Number(values.lines));

  const count = data.group.length, width = Math.max(...data.x) + 1, height = Math.max(...data.y) + 1;
  const size = Math.max(3, Math.min(22, 760 / width, (spec.height - 120) / height) * 0.72);
  const best = new Map();
  for (const link of hot) if (!best.has(link.source)) best.set(link.source, link);
  const about = (link) =>
    `<b>${link.name}</b> (${data.classes[link.kind]})<br>busy ${percent(link.busy)}${data.packets ? `, saturated ${percent(link.saturation)}` : ""}` +
    link.pairs.slice(0, 4).map(([from, by, waited]) => `<br>${job(from)} waited ${seconds(waited)} for ${job(by)}`).join("");
  const most = Math.max(...routers, 1e-300);
  const traces = [];

  // Hotter lines are darker, and on top: a trace for each of a few shades.
  const shades = 4;
  lines.forEach((link, place) => { link.shade = shades - Math.floor((place * shades) / lines.length); });
  for (let shade = 1; shade <= shades; shade++) {
    const mine = lines.filter((link) => link.shade === shade);
    if (!mine.length) continue;
    const x = [], y = [];
    for (const link of mine) {
      const [ax, ay, bx, by] = [data.x[link.source], data.y[link.source], data.x[link.target], data.y[link.target]];
      // The two directions of a cable bend to different sides.
      const bend = ay === by ? 0.45 : 0.12, cx = (ax + bx) / 2 - (by - ay) * bend, cy = (ay + by) / 2 + (bx - ax) * (ay === by ? Math.min(bend, 1.4 / Math.max(1, Math.abs(bx - ax))) : bend);
      for (let step = 0; step <= 12; step++) {
        const t = step / 12, u = 1 - t;
        x.push(u * u * ax + 2 * u * t * cx + t * t * bx);
        y.push(u * u * ay + 2 * u * t * cy + t * t * by);
        if (step === 6) (link.mx = x.at(-1)), (link.my = y.at(-1));
      }
      x.push(null); y.push(null);
    }
    traces.push({ type: "scatter", mode: "lines", x, y, hoverinfo: "skip", showlegend: false,
      line: { width: 0.5 + 0.35 * shade, color: look.colors[0] }, opacity: 0.1 + 0.18 * shade });
  }
  traces.push({
    type: "scatter", mode: "markers", x: data.x, y: data.y, showlegend: false,
    text: routers.map((value, router) => `<b>router ${router}</b>, group ${data.group[router]}<br>${words[measure]} ${text(value)}` + (best.has(router) ? `<br>hottest: ${about(best.get(router))}` : "")),
    hovertemplate: "%{text}<extra></extra>",
    marker: { symbol: "square", size, color: routers, colorscale: look.heat, cmin: 0, cmax: most, line: { width: count < 1500 ? 0.7 : 0, color: look.line },
      colorbar: { title: { text: words[measure], side: "right", font: { color: look.soft, size: 12 } }, thickness: 12, outlinewidth: 0, tickformat: measure === "waits" ? "~s" : "~%", ticksuffix: measure === "waits" ? "s" : "", tickfont: { color: look.soft } } },
  });
  traces.push({
    type: "scatter", mode: "markers", x: lines.map((link) => link.mx), y: lines.map((link) => link.my), text: lines.map(about), showlegend: false,
    hovertemplate: "%{text}<extra></extra>", marker: { size: 4, color: look.colors[0], opacity: 0.6 },
  });
  const grouped = new Set(data.group).size > 1;
  const layout = {
    xaxis: { title: { text: grouped ? "router in its group" : "" }, zeroline: false, showgrid: false, showticklabels: grouped, range: [-0.9, width - 0.1], dtick: width <= 40 ? 1 : undefined },
    yaxis: { title: { text: grouped ? "group" : "" }, zeroline: false, showgrid: false, showticklabels: grouped, range: [height - 0.1, -0.9], dtick: height <= 40 ? 1 : undefined },
    margin: { t: 10 },
  };
  return { traces, layout };
};
