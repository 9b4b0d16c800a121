// Replays: the controls around a drawing of the road, to play, scrub and compare.

const SPEEDS = [0.5, 1, 2, 4];
const ICONS = { play: "M4 2l10 6-10 6z", pause: "M3 2h4v12H3zM9 2h4v12H9z" };

const button = (className, text, label) => {
  const element = make("button", className, text);
  element.type = "button";
  if (label) element.setAttribute("aria-label", label);
  return element;
};

const icon = (width, height, className, shape) => {
  const space = document.querySelector("svg").namespaceURI;
  const [drawing, path] = ["svg", "path"].map((name) => document.createElementNS(space, name));
  const attributes = { width, height, viewBox: `0 0 ${width} ${height}`, "aria-hidden": "true" };
  Object.entries(attributes).forEach(([name, value]) => drawing.setAttribute(name, value));
  if (className) path.setAttribute("class", className);
  path.setAttribute("d", shape);
  drawing.append(path);
  return drawing;
};

// Names keep their own direction of writing, and do not turn the words beside them.
const isolated = (text) => make("bdi", "", text);

const labelled = (text, control, className) => {
  const label = make("label", className);
  if (control.type === "checkbox") label.append(control, text);
  else label.append(text, control);
  return label;
};

// The controls around a drawing, and the clock that moves it.
class Replay {
  constructor(figure) {
    this.data = JSON.parse(figure.querySelector("script[type='application/json']").textContent);
    this.road = new Road(this.data.road);
    this.stage = figure.querySelector(".stage");
    this.frame = 0;
    this.speed = 1;
    this.last = null; // the time of the last animation frame while playing, else null
    this.build();
    this.drawing = new Drawing(this.canvas, this.data, this.road);
    this.listen();
    this.choose(this.data.episodes[0]);
  }

  build() {
    const { data, stage } = this;
    const policies = [...new Set(data.episodes.map((one) => one.policy))];
    this.policy = make("select", "policy");
    this.policy.append(...policies.map((name) => new Option(name, name)));
    this.episode = make("select", "episode");
    this.compare = make("input");
    this.compare.type = "checkbox";
    this.badge = make("span", "badge");
    const above = make("div", "above");
    above.append(labelled("Policy", this.policy), labelled("Episode", this.episode));
    if (policies.length > 1) above.append(labelled("compare all", this.compare, "compare"));
    above.append(this.badge);

    this.canvas = make("canvas");
    this.canvas.tabIndex = 0;
    this.canvas.setAttribute("role", "img");
    this.play = button("play", undefined, "play");
    this.play.append(icon(16, 16, "", ICONS.play));
    this.scrub = make("input", "scrub");
    Object.assign(this.scrub, { type: "range", min: 0, step: "any" });
    this.scrub.setAttribute("aria-label", "time");
    this.clock = make("output", "clock");
    const speeds = make("div", "speeds");
    speeds.setAttribute("role", "group");
    speeds.setAttribute("aria-label", "speed");
    this.speeds = SPEEDS.map((speed) => button("", `${speed}×`));
    speeds.append(...this.speeds);
    const controls = make("div", "controls");
    controls.append(this.play, this.scrub, this.clock, speeds);

    this.legend = make("ul", "legend");
    this.legend.hidden = true;
    this.told = make("p", "told"); // only on paper, where there are no controls to tell it
    this.details = make("dl", "details");
    stage.replaceChildren(above, this.canvas, controls, this.told, this.legend, this.details);
  }

  listen() {
    const named = (policy, episode) => this.data.episodes.find((one) => one.policy === policy && one.episode === episode);
    this.policy.addEventListener("change", () => {
      const policy = this.policy.value;
      const same = named(policy, this.shown.episode);
      this.choose(same || this.data.episodes.find((one) => one.policy === policy), Boolean(same));
    });
    this.episode.addEventListener("change", () => this.choose(named(this.policy.value, this.episode.value)));
    this.compare.addEventListener("change", () => {
      this.gather();
      this.show();
    });
    this.play.addEventListener("click", () => this.toggle());
    this.canvas.addEventListener("click", () => this.toggle());
    this.scrub.addEventListener("input", () => this.go(Number(this.scrub.value)));
    this.speeds.forEach((element, index) => element.addEventListener("click", () => this.hurry(SPEEDS[index])));
    this.hurry(1);
    this.stage.addEventListener("keydown", (event) => this.key(event));
    new ResizeObserver(() => this.show()).observe(this.stage);
    window.addEventListener("resize", () => this.show()); // also when the window moves to a sharper screen
    window.matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.show());
    // Paper is white: the canvas, which no stylesheet reaches, is drawn anew for it.
    const paper = (printing) => () => {
      document.documentElement.classList.toggle("printing", printing);
      this.show();
    };
    window.addEventListener("beforeprint", paper(true));
    window.addEventListener("afterprint", paper(false));
  }

  key(event) {
    const { tagName, type } = event.target;
    if (event.ctrlKey || event.metaKey || event.altKey || tagName === "SELECT") return;
    if (event.key === " " && tagName !== "BUTTON" && type !== "checkbox") this.toggle();
    else if (event.key === "ArrowLeft" || event.key === "ArrowRight") {
      const step = (event.key === "ArrowLeft" ? -1 : 1) * (event.shiftKey ? 10 : 1);
      this.stop();
      this.go(Math.round(this.frame) + step);
    } else return;
    event.preventDefault();
  }

  choose(episode, stay = false) {
    this.shown = episode;
    this.end = episode.poses.length - 1;
    this.policy.value = episode.policy;
    const mine = this.data.episodes.filter((one) => one.policy === episode.policy);
    this.episode.replaceChildren(...mine.map((one) => new Option(one.episode, one.episode)));
    this.episode.value = episode.episode;
    this.scrub.max = Math.max(this.end, 1);
    this.scrub.disabled = this.end === 0;
    const judgement = judged(episode.outcome);
    this.badge.className = `badge ${judgement}`;
    this.badge.textContent = `${{ good: "✓ ", bad: "✕ " }[judgement] || ""}${episode.outcome}`;
    this.details.replaceChildren(
      ...Object.entries(episode.facts).map(([name, value]) => {
        const pair = make("div");
        pair.append(make("dt", "", name), make("dd", "", value));
        return pair;
      }),
    );
    this.details.hidden = !Object.keys(episode.facts).length;
    const [who, which, how] = [episode.policy, episode.episode, episode.outcome].map(isolated);
    this.told.replaceChildren(who, ", episode ", which, ": ", how);
    this.canvas.setAttribute("aria-label", this.told.textContent);
    this.gather();
    this.go(stay ? this.frame : 0);
  }

  // Who else is on the road, and the names of all.
  gather() {
    const together = this.data.episodes.filter((one) => one.episode === this.shown.episode);
    this.others = this.compare.checked ? together.filter((one) => one !== this.shown) : [];
    this.legend.hidden = !this.compare.checked;
    this.legend.replaceChildren(
      ...together.map((one) => {
        const item = make("li", `s${this.data.slots[one.policy]}`);
        const words = make("span");
        words.append(isolated(one.policy), ": ", isolated(one.outcome));
        item.append(icon(22, 14, "line", "M1 7H21"), words);
        return item;
      }),
    );
  }

  hurry(speed) {
    this.speed = speed;
    this.speeds.forEach((element, index) => element.setAttribute("aria-pressed", String(SPEEDS[index] === speed)));
  }

  toggle() {
    if (this.last !== null) return this.stop();
    if (this.frame >= this.end) this.frame = 0;
    this.last = performance.now();
    requestAnimationFrame((now) => this.tick(now));
    return this.show();
  }

  stop() {
    this.last = null;
    this.show();
  }

  tick(now) {
    if (this.last === null) return;
    const passed = Math.max(0, now - this.last) / 1000;
    this.last = now;
    this.go(this.frame + (passed * this.speed) / this.data.road.dt);
    if (this.frame >= this.end) this.stop();
    else requestAnimationFrame((next) => this.tick(next));
  }

  go(frame) {
    this.frame = Math.max(0, Math.min(frame, this.end));
    this.show();
  }

  show() {
    const seconds = (frames) => (frames * this.data.road.dt).toFixed(1);
    this.scrub.value = this.frame;
    this.scrub.setAttribute("aria-valuetext", `${seconds(this.frame)} seconds`);
    this.clock.textContent = `${seconds(this.frame)} / ${seconds(this.end)} s`;
    const playing = this.last !== null;
    this.play.setAttribute("aria-label", playing ? "pause" : "play");
    this.play.querySelector("path").setAttribute("d", playing ? ICONS.pause : ICONS.play);
    this.drawing.draw(this.shown, this.others, this.frame);
  }
}

document.querySelectorAll("figure.replay").forEach((figure) => {
  if (figure.querySelector("script")) new Replay(figure);
});
