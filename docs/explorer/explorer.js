// The explorer: move a frame over a photograph and see what a soft crop makes of its label.
// No dependencies. `soften` repeats softaug.softening; tests/test_explorer.py compares the two.
"use strict";

/** Visible share, retained information and target of a frame moved by (dx, dy) pixels. */
function soften({ dx, dy, width, height, k, classes }) {
  const left = Math.max(0, width - Math.abs(dx)) * Math.max(0, height - Math.abs(dy));
  const visible = left / (width * height);
  const retained = 1 - (1 - visible) ** k;
  const other = (1 - retained) / classes;
  return { visible, retained, confidence: retained + other, other };
}

/** A normal offset of this standard deviation, truncated inside (-limit, limit), in whole pixels. */
function drawOffset(sd, limit) {
  for (;;) {
    const radius = Math.sqrt(-2 * Math.log(1 - Math.random()));
    const offset = sd * radius * Math.cos(2 * Math.PI * Math.random());
    if (Math.abs(offset) < limit) return Math.trunc(offset);
  }
}

class Explorer {
  static SIZE = 256; // the photograph's edge in pixels, also on the screen
  static NUM_DRAWS = 12;

  constructor(root) {
    this.root = root;
    root.innerHTML = Explorer.MARKUP;
    this.find = (name) => root.querySelector(`[data-name="${name}"]`);
    this.photo = new Image();
    this.photo.onload = () => this.show();
    this.photo.src = root.dataset.photo;
    this.find("stage").style.backgroundImage = `url("${root.dataset.photo}")`;
    for (const name of ["dx", "dy", "k", "classes"])
      this.find(name).addEventListener("input", () => this.show());
    this.find("sigma").addEventListener("input", () => { this.drawSheet(); this.show(); });
    this.find("again").addEventListener("click", () => { this.drawSheet(); this.show(); });
    this.makeDraggable(this.find("frame"));
    this.drawSheet();
    this.show();
  }

  get settings() {
    const read = (name) => Number(this.find(name).value);
    return { k: read("k"), classes: read("classes"), sigma: read("sigma"), dx: read("dx"), dy: read("dy") };
  }

  soften({ dx, dy }) {
    const { SIZE: width, SIZE: height } = Explorer;
    return soften({ dx, dy, width, height, k: this.settings.k, classes: this.settings.classes });
  }

  makeDraggable(frame) {
    let grabbed = null;
    frame.addEventListener("pointerdown", (event) => {
      const { dx, dy } = this.settings;
      grabbed = { x: event.clientX - dx, y: event.clientY - dy };
      frame.setPointerCapture(event.pointerId);
    });
    frame.addEventListener("pointermove", (event) => {
      if (grabbed) this.moveTo(event.clientX - grabbed.x, event.clientY - grabbed.y);
    });
    frame.addEventListener("pointerup", () => { grabbed = null; });
    const steps = { ArrowLeft: [-4, 0], ArrowRight: [4, 0], ArrowUp: [0, -4], ArrowDown: [0, 4] };
    frame.addEventListener("keydown", (event) => {
      if (!(event.key in steps)) return;
      event.preventDefault();
      const { dx, dy } = this.settings;
      this.moveTo(dx + steps[event.key][0], dy + steps[event.key][1]);
    });
  }

  moveTo(dx, dy) {
    this.find("dx").value = Math.round(dx);
    this.find("dy").value = Math.round(dy);
    this.show();
  }

  drawSheet() {
    const sd = this.settings.sigma * Explorer.SIZE;
    const draw = () => drawOffset(sd, Explorer.SIZE);
    this.draws = Array.from({ length: Explorer.NUM_DRAWS }, () => ({ dx: draw(), dy: draw() }));
  }

  show() {
    const { dx, dy, k, classes, sigma } = this.settings;
    this.find("frame").style.transform = `translate(${dx}px, ${dy}px)`;
    for (const [name, value] of Object.entries({ dx, dy, k, classes, sigma }))
      this.find(`${name}-value`).textContent = value;
    const found = this.soften({ dx, dy });
    for (const [name, value] of Object.entries(found)) this.find(name).textContent = value.toFixed(4);
    this.find("others").textContent = `each of the ${classes - 1} other classes`;
    this.find("bar-true").style.width = `${100 * found.confidence}%`;
    this.find("bar-other").style.width = `${100 * found.other}%`;
    this.paint(this.find("crop"), { dx, dy });
    this.find("sheet").replaceChildren(...this.draws.map((one) => this.makeCard(one)));
  }

  makeCard(offset) {
    const card = document.createElement("figure");
    const canvas = document.createElement("canvas");
    this.paint(canvas, offset);
    const caption = document.createElement("figcaption");
    const { visible, confidence } = this.soften(offset);
    caption.textContent = `${Math.round(100 * visible)} % visible, target ${confidence.toFixed(2)}`;
    card.append(canvas, caption);
    return card;
  }

  paint(canvas, { dx, dy }) {
    canvas.width = canvas.height = Explorer.SIZE;
    const context = canvas.getContext("2d");
    context.fillStyle = "#000";
    context.fillRect(0, 0, Explorer.SIZE, Explorer.SIZE);
    if (this.photo.complete) context.drawImage(this.photo, -dx, -dy, Explorer.SIZE, Explorer.SIZE);
  }

  static slider(name, label, low, high, step, value) {
    return `<label>${label} <output data-name="${name}-value"></output>
      <input type="range" data-name="${name}" min="${low}" max="${high}" step="${step}" value="${value}"></label>`;
  }

  static get MARKUP() {
    const { SIZE, slider } = Explorer;
    return `<style>
      .explorer { --ink: currentColor; --accent: #00775a; display: flex; flex-wrap: wrap; gap: 24px; }
      .explorer .area { overflow: hidden; }
      .explorer .stage { position: relative; width: ${SIZE}px; height: ${SIZE}px; margin: 56px 64px 56px 40px; background-size: cover; }
      .explorer .frame { position: absolute; inset: 0; border: 3px solid var(--accent); box-shadow: 0 0 0 1px #fff; cursor: move; touch-action: none; }
      .explorer .frame::after { content: "drag me"; position: absolute; right: 6px; bottom: 4px; padding: 0 6px; background: var(--accent); color: #fff; font-size: 13px; }
      .explorer .result { flex: 1; min-width: 260px; }
      .explorer canvas { width: 100%; display: block; }
      .explorer .result > canvas { width: 160px; border: 1px solid #8888; }
      .explorer dl { display: grid; grid-template-columns: auto 1fr; gap: 2px 12px; margin: 12px 0; }
      .explorer dd { margin: 0; font-variant-numeric: tabular-nums; font-weight: 600; }
      .explorer .bar { height: 14px; background: #8883; margin: 2px 0 8px; }
      .explorer .bar div { height: 100%; background: var(--accent); min-width: 1px; }
      .explorer label { display: block; margin: 4px 0; }
      .explorer input { display: block; width: 100%; max-width: 320px; accent-color: var(--accent); }
      .explorer .sheet { flex-basis: 100%; display: grid; grid-template-columns: repeat(auto-fill, minmax(120px, 1fr)); gap: 12px; }
      .explorer figure { margin: 0; width: auto; }
      .explorer figcaption { font-size: 13px; margin: 2px 0 0; max-width: none; text-align: left; font-style: normal; }
      .explorer button { padding: 4px 12px; border: 1px solid currentColor; border-radius: 4px; cursor: pointer; }
    </style>
    <div class="explorer">
      <div class="area"><div class="stage" data-name="stage"><div class="frame" data-name="frame" tabindex="0" role="application"
        aria-label="the crop's frame; move it with the mouse or the arrow keys"></div></div></div>
      <div class="result">
        <canvas data-name="crop" aria-label="what the network sees"></canvas>
        <dl>
          <dt>visible share v</dt><dd data-name="visible"></dd>
          <dt>retained r = 1 - (1 - v)<sup>k</sup></dt><dd data-name="retained"></dd>
          <dt>target of the true class r + (1 - r) / C</dt><dd data-name="confidence"></dd>
        </dl>
        <div class="bar"><div data-name="bar-true"></div></div>
        <span data-name="others"></span>: <b data-name="other"></b>
        <div class="bar"><div data-name="bar-other"></div></div>
        ${slider("dx", "frame to the right, px", -SIZE, SIZE, 1, 60)}
        ${slider("dy", "frame down, px", -SIZE, SIZE, 1, -45)}
        ${slider("k", "k", 0.5, 5, 0.1, 2)}
        ${slider("classes", "number of classes C", 2, 1000, 1, 10)}
        ${slider("sigma", "sigma of the draws below", 0.01, 0.6, 0.01, 0.3)}
        <button type="button" data-name="again">draw again</button>
      </div>
      <div class="sheet" data-name="sheet"></div>
    </div>`;
  }
}

for (const root of document.querySelectorAll("[data-softaug-explorer]")) new Explorer(root);
