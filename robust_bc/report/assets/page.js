// What a page can do besides being read: sort tables, tell a chart's values, copy commands, mark the place in the contents.
const make = (name, className, text) => {
  const element = document.createElement(name);
  if (className) element.className = className;
  if (text !== undefined) element.textContent = text;
  return element;
};

// Tables ------------------------------------------------------------------------------------------------------------

const valueOf = (row, column, isNumber) => {
  const value = row.cells[column].dataset.value;
  if (value === undefined) return null;
  if (!isNumber) return value;
  const number = Number(value);
  return Number.isNaN(number) ? null : number;
};

const sortBy = (table, column, direction) => {
  const isNumber = table.tHead.rows[0].cells[column].dataset.kind === "number";
  const body = table.tBodies[0];
  const rows = [...body.rows].map((row) => ({ row, value: valueOf(row, column, isNumber) }));
  const sign = direction === "ascending" ? 1 : -1;
  rows.sort((a, b) => {
    if (a.value === null || b.value === null) return (a.value === null) - (b.value === null); // without a value: last
    return sign * (isNumber ? a.value - b.value : a.value.localeCompare(b.value, "en", { numeric: true }));
  });
  body.append(...rows.map(({ row }) => row));
  [...table.tHead.rows[0].cells].forEach((head, index) => {
    if (index === column) head.setAttribute("aria-sort", direction);
    else head.removeAttribute("aria-sort");
  });
};

document.querySelectorAll(".table table").forEach((table) => {
  [...table.tHead.rows[0].cells].forEach((head, column) => {
    const button = make("button");
    button.type = "button";
    button.append(...head.childNodes);
    head.append(button);
    button.addEventListener("click", () => {
      // The good end of a column comes first; a second click turns it round.
      const first = head.dataset.better === "high" ? "descending" : "ascending";
      const other = first === "ascending" ? "descending" : "ascending";
      sortBy(table, column, head.getAttribute("aria-sort") === first ? other : first);
    });
  });
});

document.querySelectorAll(".scroll").forEach((box) => {
  const look = () => {
    box.classList.toggle("moved", box.scrollLeft > 0);
    box.classList.toggle("more", box.scrollLeft + box.clientWidth < box.scrollWidth - 1);
    // Only a box that can be scrolled is a stop on the way of the Tab key.
    if (box.scrollWidth > box.clientWidth) box.tabIndex = 0;
    else box.removeAttribute("tabindex");
  };
  box.addEventListener("scroll", look, { passive: true });
  new ResizeObserver(look).observe(box);
});

// Charts ------------------------------------------------------------------------------------------------------------

const REACH = 26; // pixels around the pointer in which a point answers
const tip = make("div", "tip");
tip.hidden = true;
document.body.append(tip);

document.querySelectorAll("svg.chart").forEach((chart) => {
  // The points' own titles would show a second time, and late.
  const points = [...chart.querySelectorAll("use")].flatMap((mark) => {
    const title = mark.querySelector("title");
    if (!title) return [];
    const text = title.textContent;
    title.remove();
    return [{ mark, text, x: mark.x.baseVal.value, y: mark.y.baseVal.value }];
  });
  let near = null;
  const leave = () => {
    if (near) near.mark.classList.remove("near");
    near = null;
    tip.hidden = true;
  };
  const point = (event) => {
    const box = chart.getBoundingClientRect();
    const scale = box.width / chart.viewBox.baseVal.width;
    const x = (event.clientX - box.left) / scale;
    const y = (event.clientY - box.top) / scale;
    let best = null;
    let least = (REACH / scale) ** 2;
    for (const one of points) {
      const distance = (one.x - x) ** 2 + (one.y - y) ** 2;
      if (distance < least) [best, least] = [one, distance];
    }
    if (best === near) return;
    leave();
    if (!best) return;
    near = best;
    near.mark.classList.add("near");
    tip.textContent = near.text;
    tip.hidden = false;
    const left = box.left + near.x * scale + 12;
    const room = document.documentElement.clientWidth - tip.offsetWidth - 8;
    tip.style.left = `${Math.max(8, Math.min(left, room)) + window.scrollX}px`;
    tip.style.top = `${box.top + near.y * scale - tip.offsetHeight - 10 + window.scrollY}px`;
  };
  chart.addEventListener("pointermove", point);
  chart.addEventListener("pointerdown", point);
  chart.addEventListener("pointerleave", leave);
});

// Commands ----------------------------------------------------------------------------------------------------------

const copied = async (text) => {
  if (navigator.clipboard) return navigator.clipboard.writeText(text);
  const area = make("textarea");
  area.value = text;
  document.body.append(area);
  area.select();
  const done = document.execCommand("copy");
  area.remove();
  if (!done) throw new Error("the browser does not let the page copy");
};

document.querySelectorAll(".command").forEach((block) => {
  const text = block.textContent;
  const button = make("button", "copy", "copy");
  button.type = "button";
  button.addEventListener("click", async () => {
    try {
      await copied(text);
      button.textContent = "copied";
    } catch {
      button.textContent = "not allowed";
    }
    setTimeout(() => (button.textContent = "copy"), 1500);
  });
  block.append(button);
});

// Contents ----------------------------------------------------------------------------------------------------------

const links = new Map(
  [...document.querySelectorAll(".contents a")].map((link) => [decodeURIComponent(link.hash.slice(1)), link]),
);
const titles = [...links.keys()].map((name) => document.getElementById(name));
const mark = () => {
  const passed = titles.filter((title) => title.getBoundingClientRect().top < window.innerHeight / 3);
  const current = passed.length ? passed[passed.length - 1].id : null;
  links.forEach((link, name) => {
    if (name === current) link.setAttribute("aria-current", "true");
    else link.removeAttribute("aria-current");
  });
};
if (links.size) {
  document.addEventListener("scroll", mark, { passive: true });
  mark();
}
