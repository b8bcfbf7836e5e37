// The page: charts, their controls, tables, colors. What a drawing shows is in machine.js and sweep.js.
"use strict";
const odonata = (() => {
  const specs = JSON.parse(document.getElementById("report-data").textContent);
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const print = matchMedia("print");
  const root = document.documentElement;
  const drawn = new Set();
  let printing = false;

  // Okabe and Ito's colors, in an order for each background; beyond them, dashes tell lines apart, symbols points, patterns bars.
  const COLORS = {
    light: ["#0072b2", "#d55e00", "#009e73", "#b8548f", "#b37700", "#3a95cc", "#5f5f5f", "#7a5195"],
    dark: ["#56b4e9", "#f08a3c", "#2fbf96", "#e29ac6", "#e6b422", "#9ad1f5", "#b8b8b8", "#b79be0"],
  };
  const HEAT = {
    light: [[0, "#f6f7f9"], [0.15, "#fdeedd"], [0.4, "#fdbe85"], [0.7, "#e6701f"], [1, "#7f2704"]],
    dark: [[0, "#1d2127"], [0.15, "#3a2618"], [0.4, "#7c3f14"], [0.7, "#d9792b"], [1, "#ffe0b8"]],
  };
  // What is between the margins of a page of A4 at 96 dots per inch, and a little less: nobody resizes a chart for paper.
  const PAPER_WIDTH = 670;
  const DASHES = ["solid", "dash", "dashdot", "longdash"];
  // How much of the page's ink is mixed into colors that come round again: dashes alone may have a meaning in a chart.
  const MIXED = [0, 0.4, 0.65];
  const SYMBOLS = ["circle", "diamond-open", "square-open", "x"];
  const PATTERNS = ["", "/", ".", "x"];

  const isDark = () => !printing && (root.dataset.theme ? root.dataset.theme === "dark" : dark.matches);

  function theme() {
    const style = getComputedStyle(root);
    const ink = (name) => style.getPropertyValue(name).trim();
    const name = isDark() ? "dark" : "light";
    const paper = printing
      ? { page: "#ffffff", raised: "#f6f7f9", ink: "#000000", soft: "#444444", line: "#cccccc" }
      : { page: ink("--page"), raised: ink("--raised"), ink: ink("--ink"), soft: ink("--soft"), line: ink("--line") };
    return { ...paper, heat: HEAT[name], colors: COLORS[name] };
  }

  function mixed(hex, ink, part) {
    const parts = (color) => [1, 3, 5].map((at) => parseInt(color.slice(at, at + 2), 16));
    const other = parts(ink);
    const values = parts(hex).map((value, i) => Math.round(value * (1 - part) + other[i] * part));
    return "#" + values.map((value) => value.toString(16).padStart(2, "0")).join("");
  }

  function chosen(id) {
    const values = {};
    for (const select of document.querySelectorAll(`select[data-of="${id}"]`)) {
      values[select.name] = select.value;
      select.parentElement.dataset.chosen = select.selectedOptions[0]?.textContent ?? "";
    }
    return values;
  }

  const KINDS = {
    chart(spec, values) {
      const fits = (when) => Object.entries(when ?? {}).every(([name, value]) => values[name] === value);
      return { traces: spec.traces.filter((trace) => fits(trace.when)), layout: spec.layout };
    },
  };

  // A trace as plotly.js wants it, in the colors of the page.
  function colored(trace, look) {
    const { when, color, scale, logy, yunit, ytitle, ...made } = trace;
    // Nothing is the lightest color.
    if (scale === "heat") Object.assign(made, { colorscale: look.heat, zmin: 0, zmax: Math.max(...made.z.flat(), 1e-12) });
    if (color !== undefined) {
      const count = look.colors.length;
      const round = Math.max(0, Math.floor(color / count)) || 0;
      const hex = color === "gray" || color < 0 ? look.soft : mixed(look.colors[color % count], look.ink, MIXED[round % MIXED.length]);
      const dash = round > 0 ? { dash: DASHES[round % DASHES.length] } : {};
      const pattern = round > 0 ? { pattern: { shape: PATTERNS[round % PATTERNS.length] } } : {};
      if (made.type === "bar") made.marker = { ...pattern, ...made.marker, color: hex };
      else {
        made.line = { ...dash, ...made.line, color: hex };
        made.marker = { size: 5, symbol: SYMBOLS[round > 0 ? round % SYMBOLS.length : 0], ...made.marker, color: hex };
        if (made.fill) made.fillcolor = hex + "1f";
        if (made.error_y) made.error_y = { ...made.error_y, color: hex };
      }
    }
    if (made.colorbar) {
      made.colorbar = { outlinewidth: 0, ...made.colorbar, tickfont: { color: look.soft } };
      // At the side: the highest value may stand at the very top.
      if (made.colorbar.title) made.colorbar.title = { side: "right", ...made.colorbar.title, font: { color: look.soft, size: 12 } };
    }
    return made;
  }

  function laidOut(spec, layout, traces, look) {
    const axis = (given, log) => ({
      gridcolor: look.line, zerolinecolor: look.line, linecolor: look.line, automargin: true, ...given,
      ...(log ? { type: "log", rangemode: undefined, ticksuffix: "", tickformat: undefined, exponentformat: "power", dtick: 1 } : {}),
      title: { standoff: 10, font: { size: 13, color: look.soft }, ...given?.title },
    });
    const heat = traces.some((trace) => trace.type === "heatmap");
    const { square, ...rest } = layout;
    const made = {
      paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)", hovermode: "closest", dragmode: "zoom",
      font: { family: getComputedStyle(document.body).fontFamily, size: 12.5, color: look.ink },
      hoverlabel: { bgcolor: look.raised, bordercolor: look.line, font: { color: look.ink }, namelength: -1, align: "left" },
      showlegend: !heat && (traces.length > 1 || Boolean(traces[0]?.name)), legend: { orientation: "h", x: 0, y: 1.02, yanchor: "bottom" },
      ...rest,
      // On the right there is room for half of "100%": a label that does not fit is left out.
      // The buttons stand above the chart.
      margin: { l: 62, r: 24, b: 48, ...layout.margin, t: Math.max(34, layout.margin?.t ?? 0) },
      modebar: { bgcolor: "rgba(0,0,0,0)", color: look.soft, activecolor: look.ink },
      xaxis: axis(layout.xaxis, false),
      yaxis: axis(layout.yaxis, traces.some((trace) => trace.logy)),
      height: spec.height,
      ...(printing ? { width: PAPER_WIDTH, autosize: false } : { autosize: true }),
    };
    if (traces[0]?.yunit !== undefined) made.yaxis.ticksuffix = traces[0].yunit;
    if (traces[0]?.ytitle !== undefined) made.yaxis.title.text = traces[0].ytitle;
    if (heat) for (const one of [made.xaxis, made.yaxis]) one.showgrid = one.zeroline = false;
    if (square) Object.assign(made.yaxis, { scaleanchor: "x", constrain: "domain" }), (made.xaxis.constrain = "domain");
    return made;
  }

  function draw(id) {
    const element = document.getElementById(id), spec = specs[id], look = theme();
    const { traces, layout } = KINDS[spec.kind](spec, chosen(id), look);
    const made = laidOut(spec, layout, traces, look);
    if (spec.time && element.range) made.xaxis = { ...made.xaxis, range: element.range, autorange: false };
    Plotly.react(element, traces.map((trace) => colored(trace, look)), made, {
      responsive: true, displaylogo: false, displayModeBar: !printing, scrollZoom: false,
      modeBarButtonsToRemove: ["select2d", "lasso2d", "autoScale2d"],
      toImageButtonOptions: { format: "svg", filename: id },
    });
    if (!drawn.has(id)) {
      drawn.add(id);
      if (spec.time) element.on("plotly_relayout", (change) => follow(id, change));
    }
    element.dataset.drawn = "yes";
  }

  // Charts over time show the same time.
  let following = false;
  function follow(id, change) {
    const all = change["xaxis.autorange"] === true;
    if (following || !(all || "xaxis.range[0]" in change)) return;
    const range = all ? null : [change["xaxis.range[0]"], change["xaxis.range[1]"]];
    following = true;
    const others = Object.keys(specs).filter((other) => specs[other].time);
    const done = others.map((other) => {
      const element = document.getElementById(other);
      element.range = range;
      if (other === id || !drawn.has(other)) return null;
      return Plotly.relayout(element, range ? { "xaxis.range": range } : { "xaxis.autorange": true });
    });
    Promise.all(done).finally(() => { following = false; });
  }

  const redraw = () => drawn.forEach(draw);

  function drawAll() {
    for (const id of Object.keys(specs)) if (!drawn.has(id)) draw(id);
  }

  // The charts in sight first, the others when there is nothing else to do.
  function drawLater() {
    const seen = new IntersectionObserver((entries) => {
      for (const entry of entries) {
        if (entry.isIntersecting) { seen.unobserve(entry.target); if (!drawn.has(entry.target.id)) draw(entry.target.id); }
      }
    }, { rootMargin: "300px" });
    const ids = Object.keys(specs);
    ids.forEach((id) => seen.observe(document.getElementById(id)));
    const idle = window.requestIdleCallback ?? ((work) => setTimeout(work, 50));
    const next = () => {
      const id = ids.find((one) => !drawn.has(one));
      if (id === undefined) { root.dataset.ready = "yes"; return; }
      draw(id);
      idle(next);
    };
    idle(next);
  }

  function sortTable(button) {
    const heading = button.parentElement, table = heading.closest("table"), column = heading.cellIndex;
    const first = heading.classList.contains("number") ? "descending" : "ascending";
    const other = first === "ascending" ? "descending" : "ascending";
    const order = heading.getAttribute("aria-sort") === first ? other : first;
    for (const one of table.tHead.rows[0].cells) one.removeAttribute("aria-sort");
    heading.setAttribute("aria-sort", order);
    const sign = order === "ascending" ? 1 : -1;
    const key = (row) => {
      const cell = row.cells[column];
      return "value" in cell.dataset ? Number(cell.dataset.value) : heading.classList.contains("number") ? null : cell.textContent;
    };
    const compare = (a, b) => {
      const [x, y] = [key(a), key(b)];
      // What has no number comes last, whatever the order.
      if (x === null || y === null) return (x === null) - (y === null);
      return sign * (typeof x === "number" && typeof y === "number" ? x - y : String(x).localeCompare(String(y), "en", { numeric: true }));
    };
    table.tBodies[0].append(...[...table.tBodies[0].rows].sort(compare));
  }

  function searchRows(input) {
    const text = input.value.trim().toLowerCase();
    for (const row of document.getElementById(input.dataset.rows).tBodies[0].rows) {
      row.hidden = !row.textContent.toLowerCase().includes(text);
    }
  }

  async function copy(button) {
    const text = document.getElementById(button.dataset.copy).textContent;
    try { await navigator.clipboard.writeText(text); }
    catch {  // a page that was opened from a file may not be allowed to
      const range = document.createRange();
      range.selectNodeContents(document.getElementById(button.dataset.copy));
      getSelection().removeAllRanges();
      getSelection().addRange(range);
      document.execCommand("copy");
    }
    const said = button.textContent;
    button.textContent = "Copied";
    setTimeout(() => { button.textContent = said; }, 1500);
  }

  function save(button) {
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([document.getElementById(button.dataset.save).textContent], { type: "text/plain" }));
    link.download = button.dataset.file;
    link.click();
    URL.revokeObjectURL(link.href);
  }

  function switchTheme() {
    root.dataset.theme = isDark() ? "light" : "dark";
    try { localStorage.setItem("odonata-theme", root.dataset.theme); } catch { /* no storage for files */ }
    redraw();
  }

  // Tables wider than a page go on below each other on paper; each part has the columns that name a row.
  function splitTables() {
    // Letters on paper are smaller than on the screen (report.css).
    const scale = print.matches ? 1 : 0.82;
    for (const table of document.querySelectorAll(".scroll > table")) {
      const heads = [...table.tHead.rows[0].cells], widths = heads.map((head) => head.offsetWidth * scale);
      const sum = (columns) => columns.reduce((total, column) => total + widths[column], 0);
      const all = widths.map((_, column) => column);
      if (sum(all) <= PAPER_WIDTH) continue;
      let names = all.slice(0, Math.max(1, heads.findIndex((head) => head.classList.contains("number"))));
      if (sum(names) > PAPER_WIDTH / 2) names = [0];
      const parts = [];
      for (const column of all.slice(names.length)) {
        const last = parts.at(-1);
        if (last && sum(last) + widths[column] <= PAPER_WIDTH) last.push(column);
        else parts.push([...names, column]);
      }
      const place = table.parentElement;
      place.classList.add("on-screen");
      place.after(...parts.map((columns) => {
        const copied = place.cloneNode(true);
        copied.className = "scroll on-paper";
        copied.firstElementChild.removeAttribute("id");
        for (const row of copied.firstElementChild.rows) {
          [...row.cells].forEach((cell, column) => { if (!columns.includes(column)) cell.remove(); });
        }
        return copied;
      }));
    }
  }

  function joinTables() {
    document.querySelectorAll(".on-paper").forEach((copied) => copied.remove());
    document.querySelectorAll(".on-screen").forEach((place) => place.classList.remove("on-screen"));
  }

  function setPrinting(now) {
    if (now === printing) return;
    printing = now;
    if (now) { drawAll(); splitTables(); } else joinTables();
    redraw();
  }

  function watchContents() {
    const links = new Map([...document.querySelectorAll("nav a")].map((link) => [link.hash.slice(1), link]));
    const visible = new Set();
    const watch = new IntersectionObserver((entries) => {
      for (const entry of entries) entry.isIntersecting ? visible.add(entry.target.id) : visible.delete(entry.target.id);
      const current = [...links.keys()].find((id) => visible.has(id));
      links.forEach((link, id) => (id === current ? link.setAttribute("aria-current", "true") : link.removeAttribute("aria-current")));
    }, { rootMargin: "-10% 0px -60% 0px" });
    document.querySelectorAll("main section").forEach((section) => watch.observe(section));
  }

  function start() {
    try { const kept = localStorage.getItem("odonata-theme"); if (kept) root.dataset.theme = kept; } catch { /* none */ }
    document.getElementById("theme").addEventListener("click", switchTheme);
    dark.addEventListener("change", redraw);
    print.addEventListener("change", () => setPrinting(print.matches));
    addEventListener("beforeprint", () => setPrinting(true));
    addEventListener("afterprint", () => setPrinting(print.matches));
    document.addEventListener("change", (event) => { if (event.target.matches("select[data-of]")) draw(event.target.dataset.of); });
    document.addEventListener("input", (event) => { if (event.target.matches("input[data-rows]")) searchRows(event.target); });
    document.addEventListener("click", (event) => {
      const button = event.target.closest("button");
      if (button?.closest("thead")) sortTable(button);
      else if (button?.dataset.copy) copy(button);
      else if (button?.dataset.save) save(button);
    });
    document.querySelectorAll("select[data-of]").forEach((select) => chosen(select.dataset.of));
    watchContents();
    drawLater();
  }

  addEventListener("DOMContentLoaded", start);
  return { kinds: KINDS };
})();
