// Looks at the page in frames of three widths and leaves what it finds in #findings.
"use strict";

/// Red, green, blue and opacity of a computed colour.
const colour = (text) => {
  const numbers = text.match(/[\d.]+(e-?\d+)?/g).map(Number);
  const scale = text.startsWith("color(") ? 255 : 1;
  return [...numbers.slice(0, 3).map((part) => part * scale), numbers[3] ?? 1];
};
const over = (front, back) => front.slice(0, 3).map((part, nth) => part * front[3] + back[nth] * (1 - front[3]));
const background = (view, element) => {
  const layers = [];
  for (let at = element; at; at = at.parentElement) layers.push(colour(view.getComputedStyle(at).backgroundColor));
  const page = colour(view.getComputedStyle(view.document.body).backgroundColor);
  return layers.reverse().reduce((back, front) => over(front, back), page);
};
const luminance = (rgb) => {
  const [red, green, blue] = rgb.map((part) => {
    const share = part / 255;
    return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
};
const contrast = (one, other) => {
  const [high, low] = [luminance(one), luminance(other)].sort((a, b) => b - a);
  return (high + 0.05) / (low + 0.05);
};

/// Elements whose own text stands out too little for level AA of the Web Content Accessibility Guidelines.
const faint = (view) => {
  const found = [];
  for (const element of view.document.querySelectorAll("body *")) {
    const own = [...element.childNodes].some((node) => node.nodeType === 3 && node.data.trim());
    if (!own || ["SCRIPT", "title", "desc"].includes(element.tagName) || !element.getClientRects().length) continue;
    const style = view.getComputedStyle(element);
    const front = colour(element.ownerSVGElement ? style.fill : style.color);
    const back = background(view, element.ownerSVGElement?.parentElement ?? element);
    const ratio = contrast(over(front, back), back);
    if (ratio < 4.5) found.push(`${element.tagName}.${element.getAttribute("class")}: ${element.textContent.trim().slice(0, 40)}: ${ratio.toFixed(2)}`);
  }
  return found;
};

const visible = (element) => element.getBoundingClientRect().width > 0;

/// Words of drawings that leave the drawing, and words that lie on each other.
const words = (view) => {
  const [clipped, overlapping] = [[], []];
  for (const drawing of [...view.document.querySelectorAll(".chart svg")].filter(visible)) {
    const frame = drawing.getBoundingClientRect();
    const boxes = [...drawing.querySelectorAll("text:not([transform])")].map((text) => [text, text.getBoundingClientRect()]);
    for (const [text, box] of boxes) {
      if (box.left < frame.left - 1 || box.right > frame.right + 1 || box.bottom > frame.bottom + 1 || box.top < frame.top - 1) {
        clipped.push(`${drawing.parentElement.id}: ${text.textContent}`);
      }
    }
    boxes.forEach(([text, box], nth) => {
      for (const [other, with_] of boxes.slice(0, nth)) {
        const across = Math.min(box.right, with_.right) - Math.max(box.left, with_.left);
        const down = Math.min(box.bottom, with_.bottom) - Math.max(box.top, with_.top);
        if (across > 1 && down > 4) overlapping.push(`${drawing.parentElement.id}: ${text.textContent} / ${other.textContent}`);
      }
    });
  }
  return { clipped, overlapping };
};

/// Elements that stick out of the page to the right.
const overflow = (view, width) => {
  if (view.document.documentElement.scrollWidth <= width) return [];
  const out = [...view.document.querySelectorAll("main *")].filter((element) => {
    return element.getBoundingClientRect().right > width + 1 && !element.closest(".scroll, .code, .prose table");
  });
  return out.slice(0, 5).map((element) => `${element.tagName}.${element.className}: ${element.textContent.slice(0, 40)}`).concat("page");
};

const look = (frame, width) => {
  const view = frame.contentWindow;
  const page = view.document;
  const finding = { width, errors: view.errors };

  const button = page.querySelector("button.theme");
  finding.themes = [1, 2, 3].map(() => { button.click(); return page.documentElement.dataset.theme ?? "auto"; });

  const kernel = page.getElementById("kernel-offset_f32");
  finding.opened = !kernel.open;
  view.dispatchEvent(new view.Event("hashchange"));
  view.location.hash = "#kernel-offset_f32";
  view.dispatchEvent(new view.Event("hashchange"));
  finding.opened &&= kernel.open;

  kernel.querySelector(".line a").focus();
  finding.lit = [...kernel.querySelectorAll(".lit")].map((line) => line.id.replace(/^k\d+/, ""));

  for (const details of page.querySelectorAll("details")) details.open = true;
  const links = [...page.querySelectorAll("a[href^='#']")];
  finding.dead_links = links.filter((link) => !page.getElementById(link.getAttribute("href").slice(1))).map((link) => link.outerHTML);
  const charts = [...page.querySelectorAll("figure.chart")].filter((chart) => chart.querySelector("svg"));
  finding.charts = charts.length;
  finding.drawn = charts.filter((chart) => [...chart.querySelectorAll("svg")].filter(visible).length === 1).length;
  finding.drawing = [...page.querySelectorAll("#lesson-stride .chart svg")].find(visible).getAttribute("class");
  finding.overflow = overflow(view, width);
  Object.assign(finding, words(view));
  finding.faint = ["light", "dark"].flatMap((theme) => {
    page.documentElement.dataset.theme = theme;
    return faint(view).map((found) => `${theme}: ${found}`);
  });
  return finding;
};

const hook = "<script>window.errors = []; addEventListener('error', (event) => errors.push(event.message));<\/script>";
const findings = [];
const next = (widths) => {
  if (widths.length === 0) {
    document.getElementById("findings").textContent = JSON.stringify(findings);
    return;
  }
  const frame = document.createElement("iframe");
  frame.style = `width: ${widths[0]}px; height: 900px; border: 0`;
  frame.srcdoc = PAGE.replace("<head>", "<head>" + hook);
  frame.onload = () => {
    try {
      findings.push(look(frame, widths[0]));
    } catch (error) {
      findings.push({ width: widths[0], errors: [`the checks themselves: ${error.stack}`] });
    }
    frame.remove();
    next(widths.slice(1));
  };
  document.body.append(frame);
};
next([360, 900, 1600]);
