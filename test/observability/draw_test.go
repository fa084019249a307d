//go:build integration

package observability

import (
	"cmp"
	"fmt"
	"html"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"gitops-agent/internal/promtest"
)

// pictured are the panels of the picture in the documents, one of each type, with the world whose agent they show.
var pictured = []struct{ dashboard, title, world string }{
	{"gitops-agent / Fleet", "Guests by state", "guests"},
	{"gitops-agent / Fleet", "Need a person", "guests"},
	{"gitops-agent / Fleet", "Held steps by reason", "guests"},
	{"gitops-agent / Fleet", "From push to converged", "guests"},
	{"gitops-agent / Agent", "Writes", "source"},
	{"gitops-agent / Fleet", "Drifted guests", "guests"},
}

// drawing is one panel with its data: for each target the series between two times, with a point for each second.
type drawing struct {
	promtest.Panel
	from, to  float64 // Unix seconds
	results   [][]promtest.Sample
	exemplars []exemplar
}

// draw returns a page with the pictured panels. Grafana draws them in its own way; the page shows the same data.
func draw(t *testing.T, p *prometheus, dashboards []promtest.Dashboard, worlds map[string]*world) string {
	t.Helper()
	types := map[string]bool{}
	var page strings.Builder
	page.WriteString(`<!DOCTYPE html><meta charset="utf-8"><style>
body{margin:0;padding:12px;background:#f4f5f5;font:13px sans-serif;display:flex;flex-wrap:wrap;gap:12px;color:#24292e}
section{background:#fff;border:1px solid #ddd;border-radius:3px;padding:8px 12px;width:550px;height:235px;overflow:hidden}
h2{font-size:13px;margin:0 0 4px}p{margin:2px 0;color:#666;font-size:11px}table{border-collapse:collapse;width:100%}td,th{text-align:left;padding:3px 6px;border-bottom:1px solid #eee}
.stat{font-size:90px;text-align:center;margin-top:30px}.key{display:inline-block;width:10px;height:10px;margin:0 4px 0 10px}</style>
`)
	for _, want := range pictured {
		w := worlds[want.world]
		for _, d := range dashboards {
			regexAddress := strings.ReplaceAll(w.address, ".", "[.]")
			for _, pan := range d.Panels {
				if d.Title != want.dashboard || pan.Title != want.title {
					continue
				}
				g := drawing{Panel: pan, from: unix(w.begun), to: unix(w.ended)}
				for _, target := range pan.Targets {
					got, err := p.Over(promtest.Substitute(target.Expr, regexAddress), w.begun, w.ended)
					must(t, err)
					if !hasNumber(got) {
						t.Errorf("%s: got no data to draw", pan.Title)
					}
					g.results = append(g.results, got)
				}
				if pan.Type == "heatmap" {
					g.exemplars = p.exemplars(t, promtest.Substitute(pan.Targets[0].Expr, regexAddress), w.begun, w.ended)
				}
				types[pan.Type] = true
				fmt.Fprintf(&page, "<section><h2>%s</h2><p>%s</p>%s</section>\n", html.EscapeString(pan.Title), html.EscapeString(pan.Description), g.content(t))
			}
		}
	}
	for _, d := range dashboards {
		for _, pan := range d.Panels {
			if pan.Type != "row" && !types[pan.Type] {
				t.Errorf("got no drawing of a panel of type %s, want one: add one to pictured", pan.Type)
				types[pan.Type] = true
			}
		}
	}
	return page.String()
}

func unix(t time.Time) float64 { return float64(t.UnixMilli()) / 1000 }

// screenshot writes a picture of a page with Chromium.
func screenshot(t *testing.T, page, picture string) {
	t.Helper()
	program, err := exec.LookPath("chromium")
	if err != nil {
		t.Fatalf("%v: apt-get install chromium", err)
	}
	file := filepath.Join(t.TempDir(), "page.html")
	must(t, os.WriteFile(file, []byte(page), 0o600))
	picture, err = filepath.Abs(picture)
	must(t, err)
	out, err := exec.CommandContext(t.Context(), program, "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--user-data-dir="+t.TempDir(),
		"--window-size=1190,815", "--screenshot="+picture, "file://"+file).CombinedOutput()
	if err != nil {
		t.Fatalf("chromium: %v\n%s", err, out)
	}
}

const (
	width, height = 550.0, 150.0
	left          = 60.0 // space for labels
)

var colors = []string{"#3274d9", "#e0b400", "#c4162a", "#37872d", "#8f3bb8", "#fa6400", "#2f9e9e", "#777777"}

func (g drawing) x(at float64) float64 { return left + (width-left-10)*(at-g.from)/(g.to-g.from) }

// content returns the picture of a panel as HTML or SVG.
func (g drawing) content(t *testing.T) string {
	t.Helper()
	switch g.Type {
	case "timeseries":
		return g.lines()
	case "state-timeline":
		return g.states()
	case "heatmap":
		return g.heatmap()
	case "table":
		return g.table()
	case "bargauge":
		return g.bars()
	case "stat":
		series := g.fullest()
		return fmt.Sprintf(`<div class="stat">%s</div>`, number(series[0].Points[0].Value))
	}
	t.Errorf("got a panel of type %s, want one that can be drawn", g.Type)
	return ""
}

// svg surrounds shapes with the axis of time.
func (g drawing) svg(shapes string) string {
	var axis strings.Builder
	for i := range 5 {
		at := g.from + (g.to-g.from)*float64(i)/4
		fmt.Fprintf(&axis, `<text x="%.0f" y="%.0f" font-size="10" fill="#666" text-anchor="middle">%.0f s</text>`, g.x(at), height+12, at-g.from)
	}
	return fmt.Sprintf(`<svg width="%.0f" height="%.0f">%s%s</svg>`, width, height+16, shapes, axis.String())
}

func (g drawing) lines() string {
	top := 1.0
	for _, result := range g.results {
		for _, s := range result {
			for _, p := range s.Points {
				top = max(top, p.Value)
			}
		}
	}
	y := func(v float64) float64 { return height - (height-10)*v/top }
	var shapes, legend strings.Builder
	for i := range 5 {
		v := top * float64(i) / 4
		fmt.Fprintf(&shapes, `<line x1="%.0f" x2="%.0f" y1="%.1f" y2="%.1f" stroke="#e4e4e4"/><text x="%.0f" y="%.1f" font-size="10" fill="#666" text-anchor="end">%s</text>`,
			left, width-10, y(v), y(v), left-6, y(v)+3, number(v))
	}
	color := 0
	for i, result := range g.results {
		for _, s := range result {
			var path strings.Builder
			for j, p := range s.Points {
				command := "L"
				if j == 0 || p.Time-s.Points[j-1].Time > 1.5 {
					command = "M"
				}
				fmt.Fprintf(&path, "%s%.1f %.1f", command, g.x(p.Time), y(p.Value))
			}
			fmt.Fprintf(&shapes, `<path d="%s" fill="none" stroke="%s" stroke-width="1.5"/>`, path.String(), colors[color%len(colors)])
			legend.WriteString(key(colors[color%len(colors)], g.legend(i, s)))
			color++
		}
	}
	return g.svg(shapes.String()) + legend.String()
}

// states draws a row for each series, with a bar while it has a value.
func (g drawing) states() string {
	var shapes, legend strings.Builder
	row, color := 0, 0
	for i, result := range g.results {
		step := (height - 10) / float64(len(result)*len(g.results))
		for _, s := range result {
			for _, p := range s.Points {
				fmt.Fprintf(&shapes, `<rect x="%.1f" y="%.1f" width="%.1f" height="%.1f" fill="%s"/>`,
					g.x(p.Time), 5+step*float64(row), g.x(g.from+1)-left+0.5, step-4, colors[color%len(colors)])
			}
			legend.WriteString(key(colors[color%len(colors)], g.legend(i, s)))
			row, color = row+1, color+1
		}
	}
	return g.svg(shapes.String()) + legend.String()
}

// heatmap draws the increase of each bucket beyond the next lower one, for each second.
func (g drawing) heatmap() string {
	buckets := slices.Clone(g.results[0])
	bound := func(s promtest.Sample) float64 {
		v := math.Inf(1)
		_, _ = fmt.Sscan(s.Metric["le"], &v) // +Inf stays
		return v
	}
	slices.SortFunc(buckets, func(a, b promtest.Sample) int { return cmp.Compare(bound(a), bound(b)) })
	below := map[float64]float64{}
	step := (height - 5) / float64(len(buckets))
	var shapes strings.Builder
	for i, b := range buckets {
		y := height - step*float64(i+1)
		fmt.Fprintf(&shapes, `<text x="%.0f" y="%.1f" font-size="9" fill="#666" text-anchor="end">%s s</text>`, left-6, y+step/2+3, html.EscapeString(b.Metric["le"]))
		for _, p := range b.Points {
			if own := p.Value - below[p.Time]; own > 0.001 {
				fmt.Fprintf(&shapes, `<rect x="%.1f" y="%.1f" width="%.1f" height="%.1f" fill="#3274d9" fill-opacity="%.2f"/>`,
					g.x(p.Time), y, g.x(g.from+1)-left+0.5, step-1, min(1, 0.3+own/2))
			}
			below[p.Time] = p.Value
		}
		for _, e := range g.exemplars {
			if e.Value <= bound(b) && (i == 0 || e.Value > bound(buckets[i-1])) {
				fmt.Fprintf(&shapes, `<circle cx="%.1f" cy="%.1f" r="3" fill="#fa6400"/>`, g.x(e.Time), y+step/2)
			}
		}
	}
	return g.svg(shapes.String())
}

func (g drawing) table() string {
	series := g.fullest()
	var columns []string
	for name := range series[0].Metric {
		if name != "__name__" && name != "job" {
			columns = append(columns, name)
		}
	}
	slices.Sort(columns)
	var rows strings.Builder
	rows.WriteString("<table><tr>")
	for _, c := range append(slices.Clone(columns), "Value") {
		fmt.Fprintf(&rows, "<th>%s</th>", html.EscapeString(c))
	}
	slices.SortFunc(series, func(a, b promtest.Sample) int { return cmp.Compare(b.Points[0].Value, a.Points[0].Value) })
	for _, s := range series {
		rows.WriteString("</tr><tr>")
		for _, c := range columns {
			fmt.Fprintf(&rows, "<td>%s</td>", html.EscapeString(s.Metric[c]))
		}
		fmt.Fprintf(&rows, "<td>%s</td>", number(s.Points[0].Value))
	}
	return rows.String() + "</tr></table>"
}

func (g drawing) bars() string {
	series := g.fullest()
	top := 1.0
	for _, s := range series {
		top = max(top, s.Points[0].Value)
	}
	var shapes strings.Builder
	for i, s := range series {
		y := 8 + 34*float64(i)
		fmt.Fprintf(&shapes, `<text x="130" y="%.0f" font-size="12" text-anchor="end">%s</text><rect x="140" y="%.0f" width="%.0f" height="20" fill="#37872d"/><text x="%.0f" y="%.0f" font-size="12">%s</text>`,
			y+15, html.EscapeString(g.legend(0, s)), y, 350*s.Points[0].Value/top, 148+350*s.Points[0].Value/top, y+15, number(s.Points[0].Value))
	}
	return fmt.Sprintf(`<svg width="%.0f" height="%.0f">%s</svg>`, width, height+20, shapes.String())
}

// fullest returns the series of the first target at the moment with the largest sum, each with one point. A panel that shows the newest value showed this
// one then.
func (g drawing) fullest() []promtest.Sample {
	at := map[float64][]promtest.Sample{}
	for _, s := range g.results[0] {
		for _, p := range s.Points {
			at[p.Time] = append(at[p.Time], promtest.Sample{Metric: s.Metric, Points: []promtest.Point{p}})
		}
	}
	size := func(list []promtest.Sample) (sum float64) {
		for _, s := range list {
			sum += 0.001 + s.Points[0].Value
		}
		return sum
	}
	var most []promtest.Sample
	for _, list := range at {
		if size(list) > size(most) {
			most = list
		}
	}
	return most
}

// legend fills the legend of a target with the labels of a series.
func (g drawing) legend(target int, s promtest.Sample) string {
	return regexp.MustCompile(`\{\{(\w+)\}\}`).ReplaceAllStringFunc(g.Targets[target].Legend, func(text string) string { return s.Metric[strings.Trim(text, "{}")] })
}

func key(color, text string) string {
	return fmt.Sprintf(`<span class="key" style="background:%s"></span>%s`, color, html.EscapeString(text))
}

// number prints a value with at most one decimal.
func number(v float64) string {
	return strings.TrimSuffix(fmt.Sprintf("%.1f", v), ".0")
}
