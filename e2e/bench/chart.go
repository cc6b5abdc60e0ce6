package bench

import (
	"fmt"
	"html"
	"math"
	"strings"
)

// chart is a line chart in the format SVG.
type chart struct {
	title, x, y string

	// logX and logY choose a logarithmic axis, with a tick at each power of ten.
	logX, logY bool

	lines []line
}

type line struct {
	name   string
	points []point
}

type point struct{ x, y float64 }

// The size of the chart, and the margins around the axes, in pixels.
const (
	width, height            = 720, 420
	left, right, top, bottom = 70, 20, 40, 50
)

// colours are a palette for readers with and without colour blindness.
var colours = []string{"#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9"}

// svg returns the chart as SVG.
func (c *chart) svg() string {
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" font-family="sans-serif" font-size="12">`+"\n", width, height)
	fmt.Fprintf(&b, `<rect width="%d" height="%d" fill="white"/>`+"\n", width, height)
	text(&b, width/2, 22, "middle", c.title)
	text(&b, (left+width-right)/2, height-12, "middle", c.x)
	fmt.Fprintf(&b, `<g transform="translate(16 %d) rotate(-90)">`, (top+height-bottom)/2)
	text(&b, 0, 0, "middle", c.y)
	b.WriteString("</g>\n")
	xs, ys := c.axes()
	for _, v := range xs.ticks() {
		at := left + xs.at(v)*(width-left-right)
		fmt.Fprintf(&b, `<path d="M%.1f %d V%d" stroke="#ddd"/>`, at, top, height-bottom)
		text(&b, at, height-bottom+16, "middle", number(v))
	}
	for _, v := range ys.ticks() {
		at := height - bottom - ys.at(v)*(height-top-bottom)
		fmt.Fprintf(&b, `<path d="M%d %.1f H%d" stroke="#ddd"/>`, left, at, width-right)
		text(&b, left-6, at+4, "end", number(v))
	}
	for i, l := range c.lines {
		l.draw(&b, xs, ys, i)
	}
	b.WriteString("</svg>\n")
	return b.String()
}

// draw draws a line and its name. A line of fewer than 20 points has a mark at each point.
func (l *line) draw(b *strings.Builder, xs, ys axis, i int) {
	colour := colours[i%len(colours)]
	var path strings.Builder
	for j, p := range l.points {
		x, y := left+xs.at(p.x)*(width-left-right), height-bottom-ys.at(p.y)*(height-top-bottom)
		fmt.Fprintf(&path, "%c%.1f %.1f", "ML"[min(j, 1)], x, y)
		if len(l.points) < 20 {
			fmt.Fprintf(b, `<circle cx="%.1f" cy="%.1f" r="3" fill="%s"/>`, x, y, colour)
		}
	}
	fmt.Fprintf(b, `<path d="%s" fill="none" stroke="%s" stroke-width="2"/>`, path.String(), colour)
	at := float64(top + 18 + 18*i)
	fmt.Fprintf(b, `<path d="M%d %.0f h20" stroke="%s" stroke-width="2"/>`, left+12, at-4, colour)
	text(b, left+38, at, "start", l.name)
	b.WriteString("\n")
}

func text(b *strings.Builder, x, y float64, anchor, s string) {
	fmt.Fprintf(b, `<text x="%.1f" y="%.1f" text-anchor="%s">%s</text>`, x, y, anchor, html.EscapeString(s))
}

// axis maps the values from low to high to the range from 0 to 1.
type axis struct {
	low, high float64
	log       bool
}

// axes returns the axes with room for all points. A linear axis begins at 0.
func (c *chart) axes() (x, y axis) {
	x, y = axis{math.Inf(1), 0, c.logX}, axis{math.Inf(1), 0, c.logY}
	for _, l := range c.lines {
		for _, p := range l.points {
			x.low, x.high = min(x.low, p.x), max(x.high, p.x)
			y.low, y.high = min(y.low, p.y), max(y.high, p.y)
		}
	}
	return x.rounded(), y.rounded()
}

func (a axis) rounded() axis {
	if a.log {
		a.low, a.high = math.Pow(10, math.Floor(math.Log10(max(a.low, 1e-3)))), math.Pow(10, math.Ceil(math.Log10(max(a.high, 1e-3))))
		return a
	}
	a.low = 0
	step := a.step()
	a.high = math.Ceil(a.high/step) * step
	return a
}

// step returns the distance between two ticks: a round number, for at most five parts of the axis.
func (a axis) step() float64 {
	rough := max(a.high, 1e-9) / 5
	power := math.Pow(10, math.Floor(math.Log10(rough)))
	for _, m := range []float64{1, 2, 5} {
		if m*power >= rough {
			return m * power
		}
	}
	return 10 * power
}

func (a axis) ticks() []float64 {
	var out []float64
	if a.log {
		for v := a.low; v <= a.high*1.001; v *= 10 {
			out = append(out, v)
		}
		return out
	}
	for v := 0.0; v <= a.high*1.001; v += a.step() {
		out = append(out, v)
	}
	return out
}

func (a axis) at(v float64) float64 {
	if a.log {
		return math.Log10(max(v, a.low)/a.low) / max(math.Log10(a.high/a.low), 1e-9)
	}
	return v / a.high
}

func number(v float64) string {
	if v >= 1000 && v == math.Trunc(v) {
		return fmt.Sprintf("%.0f,%03.0f", math.Trunc(v/1000), math.Mod(v, 1000))
	}
	return fmt.Sprintf("%g", math.Round(v*1000)/1000)
}
