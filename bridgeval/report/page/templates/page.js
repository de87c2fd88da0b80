"use strict";
(() => {
  const valueOf = (row, column) => {
    const cell = row.cells[column];
    const given = cell.dataset.value;
    return given === undefined ? cell.textContent.trim() : Number(given);
  };
  const compare = (a, b) => {
    const numbers = typeof a === "number" && typeof b === "number";
    if (numbers && Number.isNaN(a) !== Number.isNaN(b)) return Number.isNaN(a) ? 1 : -1;
    if (numbers) return a - b;
    return String(a).localeCompare(String(b), undefined, { numeric: true });
  };
  for (const table of document.querySelectorAll("table[data-sortable]")) {
    const heads = [...table.tHead.rows[0].cells];
    heads.forEach((head, column) => {
      const button = document.createElement("button");
      button.type = "button";
      button.append(...head.childNodes);
      head.append(button);
      button.addEventListener("click", () => {
        const first = head.classList.contains("number") ? "descending" : "ascending";
        const other = first === "ascending" ? "descending" : "ascending";
        const direction = head.getAttribute("aria-sort") === first ? other : first;
        heads.forEach((one) => one.removeAttribute("aria-sort"));
        head.setAttribute("aria-sort", direction);
        const sign = direction === "ascending" ? 1 : -1;
        const rows = [...table.tBodies[0].rows];
        rows.sort((a, b) => sign * compare(valueOf(a, column), valueOf(b, column)));
        table.tBodies[0].append(...rows);
      });
    });
  }
  for (const input of document.querySelectorAll("input[data-filters]")) {
    const table = document.getElementById(input.dataset.filters);
    const count = document.querySelector(`[data-count="${input.dataset.filters}"]`);
    input.addEventListener("input", () => {
      const words = input.value.toLowerCase().split(/[\s,]+/).filter(Boolean);
      let shown = 0;
      for (const row of table.tBodies[0].rows) {
        const text = row.textContent.toLowerCase();
        row.hidden = !words.every((word) => text.includes(word));
        shown += row.hidden ? 0 : 1;
      }
      count.textContent = words.length ? `${shown} of ${table.tBodies[0].rows.length}` : "";
    });
  }
  const root = document.documentElement;
  document.getElementById("theme").addEventListener("click", () => {
    const dark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
    root.dataset.theme = dark ? "light" : "dark";
  });
  // The numbers of the mark nearest to the pointer, or chosen with the arrow keys, in a box beside it.
  const tip = document.createElement("div");
  tip.className = "tip";
  tip.setAttribute("role", "status");
  tip.hidden = true;
  document.body.append(tip);
  const distance = (box, x, y) =>
    Math.hypot(Math.max(box.left - x, 0, x - box.right), Math.max(box.top - y, 0, y - box.bottom));
  const hide = () => {
    tip.hidden = true;
    for (const one of document.querySelectorAll(".mark.on")) one.classList.remove("on");
  };
  const show = (plot, row) => {
    hide();
    const marks = plot.rows.get(row);
    for (const mark of marks) mark.classList.add("on");
    tip.textContent = marks[0].dataset.told;
    tip.hidden = false;
    const box = marks[marks.length - 1].getBoundingClientRect();
    const left = box.left + box.width / 2 - tip.offsetWidth / 2;
    const above = box.top - tip.offsetHeight - 8;
    tip.style.left = `${Math.min(Math.max(left, 8), innerWidth - tip.offsetWidth - 8)}px`;
    tip.style.top = `${above > 8 ? above : box.bottom + 8}px`;
    plot.current = row;
  };
  for (const plot of document.querySelectorAll(".plot")) {
    plot.rows = new Map();
    for (const mark of plot.querySelectorAll(".mark")) {
      // Moved, so that the browser's own box does not come up beside ours.
      const title = mark.querySelector("title");
      mark.dataset.told = title.textContent;
      title.remove();
      const row = Number(mark.dataset.row);
      plot.rows.set(row, [...(plot.rows.get(row) ?? []), mark]);
    }
    if (!plot.rows.size) continue;
    plot.tabIndex = 0;
    plot.setAttribute("aria-label", `${plot.getAttribute("aria-label")}. Arrow keys go through the numbers.`);
    const point = (event) => {
      let nearest = [24, undefined];
      for (const [row, marks] of plot.rows) {
        for (const mark of marks) {
          const far = distance(mark.getBoundingClientRect(), event.clientX, event.clientY);
          if (far < nearest[0]) nearest = [far, row];
        }
      }
      if (nearest[1] === undefined) hide();
      else show(plot, nearest[1]);
    };
    plot.addEventListener("pointermove", point);
    plot.addEventListener("pointerdown", point);
    plot.addEventListener("pointerleave", (event) => event.pointerType === "mouse" && hide());
    plot.addEventListener("blur", hide);
    plot.addEventListener("keydown", (event) => {
      if (event.key === "Escape") hide();
      const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
      if (!step) return;
      event.preventDefault();
      const last = plot.rows.size - 1;
      show(plot, Math.min(Math.max((plot.current ?? -1) + step, 0), last));
    });
  }
  addEventListener("scroll", hide, { passive: true });

  // A chart as PNG: its title, the legend and the drawing, in the colors of the page.
  const save = (figure) => {
    const style = getComputedStyle(document.documentElement);
    const color = (name) => style.getPropertyValue(name).trim();
    const svg = figure.querySelector(".plot svg").cloneNode(true);
    const [, , width, height] = svg.getAttribute("viewBox").split(" ").map(Number);
    const names = ["--soft", "--line", ...Array.from({ length: 8 }, (_, at) => `--series-${at + 1}`)];
    svg.setAttribute("style", names.map((name) => `${name}: ${color(name)}`).join("; "));
    svg.setAttribute("xmlns", "http://www.w3.org/2000/svg");
    svg.setAttribute("xmlns:xlink", "http://www.w3.org/1999/xlink");
    svg.setAttribute("width", width);
    svg.setAttribute("height", height);
    const title = figure.querySelector("figcaption code").textContent;
    const legend = [...(figure.closest("section").querySelector(".legend")?.children ?? [])];
    const image = new Image();
    image.addEventListener("load", () => {
      const top = 20 + 14 * legend.length;
      const canvas = document.createElement("canvas");
      canvas.width = 3 * width;
      canvas.height = 3 * (height + top);
      const draw = canvas.getContext("2d");
      draw.scale(3, 3);
      draw.fillStyle = color("--card");
      draw.fillRect(0, 0, width, height + top);
      draw.fillStyle = color("--ink");
      draw.font = "bold 11px sans-serif";
      draw.fillText(title, 8, 14, width - 16);
      draw.font = "10px sans-serif";
      legend.forEach((entry, at) => {
        draw.fillStyle = color(`--series-${(at % 8) + 1}`);
        draw.fillRect(8, 20 + 14 * at, 8, 8);
        draw.fillStyle = color("--ink");
        draw.fillText(entry.textContent, 22, 28 + 14 * at, width - 30);
      });
      draw.drawImage(image, 0, top, width, height);
      const link = document.createElement("a");
      link.download = `${title.replace(/[^\w@.-]+/g, "_")}.png`;
      link.href = canvas.toDataURL("image/png");
      link.click();
    });
    image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(new XMLSerializer().serializeToString(svg))}`;
  };
  for (const figure of document.querySelectorAll("figure")) {
    const button = document.createElement("button");
    button.type = "button";
    button.className = "save";
    button.textContent = "PNG";
    button.setAttribute("aria-label", `Save ${figure.querySelector("figcaption code").textContent} as PNG`);
    button.addEventListener("click", () => save(figure));
    figure.querySelector("figcaption").append(button);
  }
  // A link into folded lists unfolds them, also in browsers that do not do so by themselves, and after they were closed.
  for (const link of document.querySelectorAll('a[href^="#"]')) {
    link.addEventListener("click", () => {
      let folded = document.getElementById(link.hash.slice(1))?.closest("details");
      for (; folded; folded = folded.parentElement.closest("details")) folded.open = true;
    });
  }
  // Folded tables stay folded on paper; everything else is opened for it, and closed again.
  let opened = [];
  addEventListener("beforeprint", () => {
    opened = [...document.querySelectorAll("details:not(.folded, [open])")];
    for (const one of opened) one.open = true;
  });
  addEventListener("afterprint", () => {
    for (const one of opened) one.open = false;
  });
})();
