"use strict";
// Charts of lines: uPlot with the colours of the page, drawn anew where these or the width change.

// A chart in `host`. `options` and `data` are uPlot's; colours of series and axes are set here, from their `group`.
o9.chart = (host, { options, data, height }) => {
  const chart = { plot: null };
  const width = () => Math.max(host.clientWidth, 240);
  const draw = () => {
    const old = chart.plot;
    const [ink, line] = [o9.colour("dim"), o9.colour("line")];
    const series = options.series.map((one) => one.group == null ? { ...one } : {
      ...one, stroke: one.pale ? o9.stroke(one.group) + "70" : o9.stroke(one.group),
      dash: one.pale ? [] : o9.DASHES[one.group % 6],
    });
    const axes = options.axes.map((axis) => ({
      font: "11px system-ui, sans-serif", stroke: ink, grid: { stroke: line, width: 1 }, ticks: { stroke: line, width: 1, size: 4 }, ...axis,
    }));
    const scales = old ? Object.fromEntries(Object.entries(old.scales).map(([key, scale]) => [key, [scale.min, scale.max]])) : null;
    if (old) old.destroy();
    chart.plot = new uPlot({ ...options, series, axes, width: width(), height, legend: { show: false } }, data, host);
    if (scales && scales.x[0] != null) chart.plot.setScale("x", { min: scales.x[0], max: scales.x[1] });
  };
  draw();
  o9.theme.redraws.push(draw);
  new ResizeObserver(() => {
    if (Math.abs(chart.plot.width - width()) > 1) chart.plot.setSize({ width: width(), height });
  }).observe(host);
  return chart;
};

// Index of the last of the ascending `values` that is at most `value`; -1 where none is.
o9.before = (values, value) => {
  let [low, high] = [0, values.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (values[middle] <= value) low = middle + 1;
    else high = middle;
  }
  return low - 1;
};
