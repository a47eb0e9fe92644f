// The element with the worst contrast between its own text and what is behind it (WCAG 2.1), as [ratio, which].
() => {
  const numbers = (text) => (text.match(/[\d.]+/g) || []).map(Number);
  const rgb = (text) => {
    const [r, g, b, alpha = 1] = numbers(text);
    const scale = text.startsWith("color(") ? 255 : 1;
    return [r * scale, g * scale, b * scale, alpha];
  };
  const linear = (v) => (v / 255 <= 0.03928 ? v / 255 / 12.92 : ((v / 255 + 0.055) / 1.055) ** 2.4);
  const luminance = ([r, g, b]) => 0.2126 * linear(r) + 0.7152 * linear(g) + 0.0722 * linear(b);
  const behind = (element) => {
    for (let at = element; at; at = at.parentElement) {
      const color = rgb(getComputedStyle(at).backgroundColor);
      if (color[3] > 0) return color;
    }
    return [255, 255, 255, 1];
  };
  const hasText = (element) => [...element.childNodes].some((node) => node.nodeType === 3 && node.textContent.trim());
  let worst = [99, ""];
  for (const element of document.querySelectorAll("body *")) {
    if (!hasText(element) || !element.checkVisibility() || element.closest("script")) continue;
    const pair = [luminance(rgb(getComputedStyle(element).color)), luminance(behind(element))];
    const ratio = (Math.max(...pair) + 0.05) / (Math.min(...pair) + 0.05);
    if (ratio < worst[0]) worst = [ratio, `${element.className}: ${element.textContent.trim().slice(0, 40)}`];
  }
  return worst;
}
