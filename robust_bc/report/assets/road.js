// A road seen from above and the cars on it, drawn on a canvas.

const AHEAD = 0.32; // where the driven car stands in a view that follows it, as a share of the width
const MARGIN = 3.4; // metres beside the road
const RUN_OUT = 10; // metres of asphalt before the start and behind the finish
const STRIP = 44; // pixels of the overview below a straight road

// A road of straights and arcs: the pose so many metres along it and to the left of its middle.
class Road {
  constructor(road) {
    Object.assign(this, road);
    this.half = (road.lanes * road.lane_width) / 2;
    this.length = road.pieces.reduce((sum, piece) => sum + piece.length, 0);
    this.straight = road.pieces.every((piece) => piece.curvature === 0);
  }

  at(along, offset) {
    // Behind its last piece the road goes on as that one does.
    let index = 0;
    let here = along;
    while (index < this.pieces.length - 1 && here > this.pieces[index].length) {
      here -= this.pieces[index].length;
      index += 1;
    }
    const piece = this.pieces[index];
    const [x, y, heading] = piece.start;
    const turn = piece.curvature * here;
    const ahead = (piece.curvature ? Math.sin(turn) / piece.curvature : here) - Math.sin(turn) * offset;
    const left = (piece.curvature ? (1 - Math.cos(turn)) / piece.curvature : 0) + Math.cos(turn) * offset;
    const [c, s] = [Math.cos(heading), Math.sin(heading)];
    return [x + c * ahead - s * left, y + s * ahead + c * left];
  }

  line(begin, end, offset) {
    const count = this.straight ? 1 : Math.ceil((end - begin) / 0.8);
    return Array.from({ length: count + 1 }, (_, i) => this.at(begin + ((end - begin) * i) / count, offset));
  }

  // Metres from the start line along a straight road, and to its left.
  seenFromStart([x, y, heading]) {
    const [x0, y0, heading0] = this.pieces[0].start;
    const [c, s] = [Math.cos(heading0), Math.sin(heading0)];
    return [c * (x - x0) + s * (y - y0), c * (y - y0) - s * (x - x0), heading - heading0];
  }
}

const poseAt = (poses, frame) => {
  const index = Math.max(0, Math.min(Math.floor(frame), poses.length - 1));
  const [a, b] = [poses[index], poses[Math.min(index + 1, poses.length - 1)]];
  const share = Math.max(0, Math.min(frame - index, 1));
  const turn = Math.atan2(Math.sin(b[2] - a[2]), Math.cos(b[2] - a[2]));
  return [a[0] + share * (b[0] - a[0]), a[1] + share * (b[1] - a[1]), a[2] + share * turn];
};

const judged = (outcome) => {
  if (/^no |without|success|finish|safe|reached|arrived/i.test(outcome)) return "good";
  return /collision|collided|crash|hit|fail|off the road|left the road/i.test(outcome) ? "bad" : "";
};

// Draws in metres: `view` takes a place on the road to pixels.
class Drawing {
  constructor(canvas, data, road) {
    Object.assign(this, { canvas, data, road, context: canvas.getContext("2d") });
  }

  colour(name) {
    return this.styles.getPropertyValue(`--${name}`).trim();
  }

  fit() {
    const { road, canvas } = this;
    this.width = Math.max(canvas.parentElement.clientWidth, 200);
    if (road.straight) {
      this.scale = this.width / Math.max(46, Math.min(90, this.width / 11));
      this.main = Math.round((2 * road.half + 2 * MARGIN) * this.scale);
      this.height = this.main + STRIP;
    } else {
      const edges = [road.half, -road.half].flatMap((side) => road.line(-RUN_OUT / 2, road.length + RUN_OUT / 2, side));
      const [xs, ys] = [edges.map(([x]) => x), edges.map(([, y]) => y)];
      const box = [Math.min(...xs), Math.max(...xs), Math.min(...ys), Math.max(...ys)];
      const [wide, tall] = [box[1] - box[0] + 2 * MARGIN, box[3] - box[2] + 2 * MARGIN];
      this.scale = Math.min(this.width / wide, Math.max(300, Math.min(540, 0.6 * this.width)) / tall);
      this.height = this.main = Math.round(tall * this.scale);
      this.middle = [(box[0] + box[1]) / 2, (box[2] + box[3]) / 2];
    }
    const sharp = window.devicePixelRatio || 1;
    const [wide, tall] = [Math.round(this.width * sharp), Math.round(this.height * sharp)];
    if (canvas.width !== wide || canvas.height !== tall) [canvas.width, canvas.height] = [wide, tall];
    this.context.setTransform(sharp, 0, 0, sharp, 0, 0);
  }

  draw(shown, others, frame) {
    this.fit();
    this.styles = getComputedStyle(this.canvas);
    const { context, road } = this;
    const pose = poseAt(shown.poses, frame);
    if (road.straight) {
      const span = this.width / this.scale;
      const [along] = road.seenFromStart(pose);
      const left = Math.max(-RUN_OUT, Math.min(along - AHEAD * span, road.length + RUN_OUT - span));
      this.left = Math.min(left, Math.max(-RUN_OUT, road.length + RUN_OUT - span));
      this.view = (place) => {
        const [x, y] = road.seenFromStart([...place, 0]);
        return [(x - this.left) * this.scale, this.main / 2 - y * this.scale];
      };
      this.tilt = road.pieces[0].start[2];
    } else {
      const [x0, y0] = this.middle;
      this.view = ([x, y]) => [this.width / 2 + (x - x0) * this.scale, this.main / 2 - (y - y0) * this.scale];
      this.tilt = 0;
    }
    context.fillStyle = this.colour("ground");
    context.fillRect(0, 0, this.width, this.height);
    context.save();
    context.beginPath();
    context.rect(0, 0, this.width, this.main);
    context.clip();
    this.surface();
    for (const car of shown.cars) this.car(car, this.colour("standing"), 1);
    for (const other of others) {
      const colour = this.colour(`series-${this.data.slots[other.policy]}`);
      this.path(other.poses, frame, colour, 0.75);
      this.car(poseAt(other.poses, frame), colour, 0.4);
    }
    const colour = this.colour(`series-${this.data.slots[shown.policy]}`);
    this.path(shown.poses, frame, colour, 1);
    const crashed = frame >= shown.poses.length - 1 && judged(shown.outcome) === "bad";
    this.car(pose, colour, 1, true);
    if (crashed) this.ring(pose);
    context.restore();
    if (road.straight) this.overview(shown, others, frame, pose);
  }

  trace(places, closed) {
    const { context } = this;
    context.beginPath();
    places.forEach((place, index) => (index ? context.lineTo(...this.view(place)) : context.moveTo(...this.view(place))));
    if (closed) context.closePath();
  }

  stroke(places, colour, width, dash = []) {
    const { context } = this;
    this.trace(places, false);
    context.setLineDash(dash);
    Object.assign(context, { strokeStyle: colour, lineWidth: width, lineJoin: "round", lineCap: "butt" });
    context.stroke();
    context.setLineDash([]);
  }

  surface() {
    const { context, road, scale } = this;
    const far = road.straight ? this.width / scale + RUN_OUT : RUN_OUT / 2;
    const [begin, end, half] = [-far, road.length + far, road.half];
    this.trace([...road.line(begin, end, half + 0.4), ...road.line(begin, end, -half - 0.4).reverse()], true);
    context.fillStyle = this.colour("asphalt");
    context.fill();
    for (const side of [half, -half]) this.stroke(road.line(begin, end, side), this.colour("paint"), 0.18 * scale);
    for (let lane = 1; lane < road.lanes; lane += 1) {
      const line = road.line(0, end, half - lane * road.lane_width);
      this.stroke(line, this.colour("paint"), Math.max(1, 0.15 * scale), [3 * scale, 4.5 * scale]);
    }
    this.stroke([road.at(0, half), road.at(0, -half)], this.colour("paint"), 0.3 * scale);
    this.finish();
    Object.assign(context, { fillStyle: this.colour("quiet"), textAlign: "center", textBaseline: "middle" });
    context.font = `11px ${this.colour("sans")}`;
    for (let mark = 0; road.straight && mark < road.length - 8; mark += 25) {
      const [x, y] = this.view(road.at(mark, -half - MARGIN / 2 - 0.2));
      context.fillText(mark ? `${mark} m` : "start", x, y);
    }
    const [x, y] = this.view(road.at(road.length + 0.7, -half - MARGIN / 2 - 0.2));
    context.fillText("finish", x, y);
  }

  finish() {
    const { context, road } = this;
    const count = 2 * Math.round(road.half / 0.7);
    const size = (2 * road.half) / count;
    for (let row = 0; row < 2; row += 1) {
      for (let step = 0; step < count; step += 1) {
        const [near, top] = [road.length + row * size, road.half - step * size];
        this.trace([road.at(near, top), road.at(near + size, top), road.at(near + size, top - size), road.at(near, top - size)], true);
        context.fillStyle = this.colour((row + step) % 2 ? "paint" : "ink");
        context.fill();
      }
    }
  }

  path(poses, frame, colour, strength) {
    const { context } = this;
    const places = [...poses.slice(0, Math.floor(frame) + 1), poseAt(poses, frame)];
    context.globalAlpha = strength;
    this.stroke(places, colour, Math.max(1.6, 0.22 * this.scale));
    context.globalAlpha = 1;
  }

  car([x, y, heading], colour, strength, driven = false) {
    const { context, scale } = this;
    const { length, width } = this.data.car;
    context.save();
    context.translate(...this.view([x, y]));
    context.rotate(this.tilt - heading);
    context.scale(scale, scale);
    context.globalAlpha = strength;
    context.fillStyle = colour;
    context.beginPath();
    context.roundRect(-length / 2, -width / 2, length, width, 0.55);
    context.fill();
    if (driven) {
      Object.assign(context, { strokeStyle: this.colour("paper"), lineWidth: 0.16 });
      context.stroke();
    }
    // Two panes of glass tell front from back.
    context.globalAlpha = strength * 0.45;
    context.fillStyle = this.colour("paper");
    context.beginPath();
    context.roundRect(0.35, -0.95, 0.85, 1.9, 0.25);
    context.roundRect(-1.85, -0.85, 0.5, 1.7, 0.2);
    context.fill();
    context.restore();
  }

  ring(pose) {
    const { context, scale } = this;
    context.beginPath();
    context.arc(...this.view(pose), 4 * scale, 0, 2 * Math.PI);
    Object.assign(context, { strokeStyle: this.colour("bad"), lineWidth: Math.max(2, 0.3 * scale) });
    context.stroke();
  }

  // The whole straight road in a thin strip: its width is stretched, and a frame shows what the view above sees.
  overview(shown, others, frame, pose) {
    const { context, road, width } = this;
    const [pad, top, tall] = [14, this.main + 13, STRIP - 26];
    const along = (metres) => pad + ((metres + RUN_OUT) / (road.length + 2 * RUN_OUT)) * (width - 2 * pad);
    const across = (left) => top + tall / 2 - (left / (2 * road.half)) * tall;
    const place = (at) => {
      const [x, y] = road.seenFromStart([at[0], at[1], 0]);
      return [along(x), across(y)];
    };
    context.fillStyle = this.colour("asphalt");
    context.fillRect(along(0), top, along(road.length) - along(0), tall);
    context.fillStyle = this.colour("standing");
    const long = Math.max(4, along(this.data.car.length) - along(0));
    for (const car of shown.cars) {
      const [x, y] = place(car);
      context.fillRect(x - long / 2, y - 2, long, 4);
    }
    for (const one of [...others, shown]) {
      const colour = this.colour(`series-${this.data.slots[one.policy]}`);
      context.beginPath();
      one.poses.slice(0, Math.floor(frame) + 1).forEach((at, i) => (i ? context.lineTo(...place(at)) : context.moveTo(...place(at))));
      Object.assign(context, { strokeStyle: colour, fillStyle: colour, lineWidth: 1.5 });
      context.stroke();
    }
    context.beginPath();
    context.arc(...place(pose), 4, 0, 2 * Math.PI);
    context.fill();
    const [begin, end] = [Math.max(along(this.left), 4), Math.min(along(this.left + width / this.scale), width - 4)];
    Object.assign(context, { strokeStyle: this.colour("quiet"), lineWidth: 1 });
    context.beginPath();
    context.roundRect(begin, top - 5.5, end - begin, tall + 11, 4);
    context.stroke();
  }
}
