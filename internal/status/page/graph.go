package page

import (
	"cmp"
	"fmt"
	"slices"

	"gitops-agent/reconcile/report"
)

// Measures of the graph, in pixels.
const (
	nodeWidth  = 190
	nodeHeight = 34
	layerGap   = 70
	rowGap     = 12
	bandGap    = 18 // between guests that are not connected
	margin     = 8
	maxNodes   = 300
	maxName    = 24 // characters of a name within a node
)

// graphPage is the page of dependencies.
type graphPage struct {
	frame

	Nodes         []node
	Edges         []edge
	Width, Height int
	Alone         int // selected guests without a dependency
	LeftOut       int // guests that are only in the list
	List          []dependent
	ListOpen      bool
	Fields        []field
}

// node is a guest of the graph.
type node struct {
	guestLink

	X, Y  int
	Name  string
	State string
	Tone  tone
	layer int
	band  int     // of the guests that are connected with it
	order float64 // within its layer
}

// TextX returns where the name begins.
func (n node) TextX() int { return n.X + 12 }

// TextY returns the base line of the name.
func (n node) TextY() int { return n.Y + 22 }

// edge is a curve from a guest to one that depends on it.
type edge struct{ Path string }

// dependent is a guest of the list below the graph.
type dependent struct {
	neighbour

	On []neighbour
}

// newGraphPage draws the selected guests that have a dependency or are one. Guests stand right of those on which they depend.
func newGraphPage(in Input) graphPage {
	p := graphPage{frame: newFrame(in, "", "graph"), Fields: fields(in.Selection, in.Report.Guests)}
	p.Title = "Dependencies"
	guests := make(map[string]report.Guest, len(in.Report.Guests))
	chosen := make(map[string]bool)
	for _, g := range in.Report.Guests {
		guests[g.Label()] = g
	}
	selected := 0
	for _, g := range in.Report.Guests {
		if !in.Selection.Matches(g) {
			continue
		}
		selected++
		if len(g.DependsOn) > 0 {
			chosen[g.Label()] = true
		}
		for _, on := range g.DependsOn {
			chosen[on] = true
		}
	}
	for _, g := range in.Report.Guests { // a selected guest that others need is drawn with them
		for _, on := range g.DependsOn {
			if target, found := guests[on]; found && in.Selection.Matches(target) {
				chosen[g.Label()], chosen[on] = true, true
			}
		}
	}
	alone := selected
	for label := range chosen {
		if g, found := guests[label]; found && in.Selection.Matches(g) {
			alone--
		}
	}
	p.Alone = alone
	p.layOut(guests, chosen)
	return p
}

func (p *graphPage) layOut(guests map[string]report.Guest, chosen map[string]bool) {
	layers := map[string]int{}
	var layerOf func(label string, depth int) int
	layerOf = func(label string, depth int) int {
		if known, found := layers[label]; found || depth > len(chosen) {
			return known
		}
		layers[label] = 0
		deepest := 0
		for _, on := range guests[label].DependsOn {
			if chosen[on] {
				deepest = max(deepest, layerOf(on, depth+1)+1)
			}
		}
		layers[label] = deepest
		return deepest
	}
	labels := make([]string, 0, len(chosen))
	for label := range chosen {
		labels = append(labels, label)
	}
	slices.Sort(labels)
	for _, label := range labels {
		g, found := guests[label]
		if found && len(g.DependsOn) > 0 {
			d := dependent{neighbour: p.neighbour(g)}
			for _, on := range g.DependsOn {
				n := neighbour{guestLink: p.links.guest(on)}
				if other, found := guests[on]; found {
					n = p.neighbour(other)
				}
				d.On = append(d.On, n)
			}
			p.List = append(p.List, d)
		}
		n := node{guestLink: p.links.guest(label), Name: label, State: "no manifest names it", Tone: idle, layer: layerOf(label, 0)}
		if found {
			n.Name, n.State, n.Tone = g.Name, syncBadge(g.Sync).Text+", "+healthBadge(g.Health).Text, worst(g)
		}
		if runes := []rune(n.Name); len(runes) > maxName {
			n.Name = string(runes[:maxName-1]) + "…"
		}
		p.Nodes = append(p.Nodes, n)
	}
	p.ListOpen = len(p.List) <= maxUnfolded
	if len(p.Nodes) > maxNodes {
		slices.SortStableFunc(p.Nodes, func(a, b node) int { return cmp.Compare(severity(a.Tone), severity(b.Tone)) })
		p.LeftOut, p.Nodes = len(p.Nodes)-maxNodes, p.Nodes[:maxNodes]
	}
	p.place(guests)
}

// place draws the nodes that are connected with each other in a band of their own, and the edges.
func (p *graphPage) place(guests map[string]report.Guest) {
	p.setBands(guests)
	slices.SortStableFunc(p.Nodes, func(a, b node) int {
		return cmp.Or(cmp.Compare(a.band, b.band), cmp.Compare(a.layer, b.layer), cmp.Compare(a.Name, b.Name))
	})
	at := map[string]*node{}
	top := margin
	for first := 0; first < len(p.Nodes); {
		last := first
		for last < len(p.Nodes) && p.Nodes[last].band == p.Nodes[first].band {
			last++
		}
		top = placeBand(p.Nodes[first:last], top, guests, at) + bandGap
		first = last
	}
	for _, n := range p.Nodes {
		p.Width, p.Height = max(p.Width, n.X+nodeWidth+margin), max(p.Height, n.Y+nodeHeight+margin)
		for _, on := range guests[n.Label].DependsOn {
			if from := at[on]; from != nil {
				x1, y1, x2, y2 := from.X+nodeWidth, from.Y+nodeHeight/2, n.X, n.Y+nodeHeight/2
				p.Edges = append(p.Edges, edge{fmt.Sprintf("M%d %dC%d %d %d %d %d %d", x1, y1, (x1+x2)/2, y1, (x1+x2)/2, y2, x2, y2)})
			}
		}
	}
}

// setBands numbers the groups of nodes that are connected, in the order of their first names.
func (p *graphPage) setBands(guests map[string]report.Guest) {
	slices.SortStableFunc(p.Nodes, func(a, b node) int { return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.Label, b.Label)) })
	index, linked := map[string]int{}, make([][]int, len(p.Nodes))
	for i := range p.Nodes {
		index[p.Nodes[i].Label], p.Nodes[i].band = i, -1
	}
	for i, n := range p.Nodes {
		for _, on := range guests[n.Label].DependsOn {
			if j, found := index[on]; found {
				linked[i], linked[j] = append(linked[i], j), append(linked[j], i)
			}
		}
	}
	bands := 0
	for i := range p.Nodes {
		if p.Nodes[i].band >= 0 {
			continue
		}
		for open := []int{i}; len(open) > 0; {
			next := open[len(open)-1]
			open = open[:len(open)-1]
			if p.Nodes[next].band < 0 {
				p.Nodes[next].band = bands
				open = append(open, linked[next]...)
			}
		}
		bands++
	}
}

// placeBand puts connected nodes, sorted by layer, below top, and returns the lower end. A node is near the middle of the nodes on which it depends. A
// layer that is lower than the band is in its middle.
func placeBand(nodes []node, top int, guests map[string]report.Guest, at map[string]*node) int {
	const row = nodeHeight + rowGap
	rows := map[int]int{}
	for _, n := range nodes {
		rows[n.layer]++
	}
	highest := 0
	for _, n := range rows {
		highest = max(highest, n)
	}
	for first := 0; first < len(nodes); first += rows[nodes[first].layer] {
		layer := nodes[first : first+rows[nodes[first].layer]]
		for i := range layer {
			count := 0
			for _, on := range guests[layer[i].Label].DependsOn {
				if other := at[on]; other != nil {
					layer[i].order += float64(other.Y)
					count++
				}
			}
			layer[i].order /= float64(max(count, 1))
		}
		slices.SortStableFunc(layer, func(a, b node) int { return cmp.Compare(a.order, b.order) })
		for i := range layer {
			layer[i].X, layer[i].Y = margin+layer[i].layer*(nodeWidth+layerGap), top+(highest-len(layer))*row/2+i*row
			at[layer[i].Label] = &layer[i]
		}
	}
	return top + highest*row - rowGap
}

func (p *graphPage) neighbour(g report.Guest) neighbour {
	return neighbour{p.links.guest(g.Label()), []badge{syncBadge(g.Sync), healthBadge(g.Health)}}
}
