package page

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"gitops-agent/reconcile/edge"
	"gitops-agent/reconcile/object"
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
	form

	Nodes         []node
	Edges         []curve
	Width, Height int
	Alone         int // selected guests without a dependency
	LeftOut       int // guests that are only in the list
	List          []dependent
	ListOpen      bool
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

// curve is drawn from a guest to a guest that depends on it.
type curve struct{ Path string }

// dependent is a guest of the list below the graph.
type dependent struct {
	neighbour

	On []neighbour
}

// newGraphPage draws the selected guests that have a dependency or are one. Guests stand right of those on which they depend.
func newGraphPage(in Input) graphPage {
	p := graphPage{frame: newFrame(in, "", "graph"), form: newForm(in.Selection, in.Report.Guests)}
	p.Title = "Dependencies"
	guests, selected, chosen := make(map[string]report.Guest, len(in.Report.Guests)), make(map[string]bool), make(map[string]bool)
	for _, g := range in.Report.Guests {
		guests[g.Label()] = g
		if in.Selection.Matches(g) {
			selected[g.Label()] = true
		}
	}
	all := in.Report.Dependencies()
	for _, e := range all { // a selected guest that others need is drawn with them
		if from, to := e.From.Label, e.To.Label; selected[from] || selected[to] {
			chosen[from], chosen[to] = true, true
		}
	}
	alone := len(selected)
	for label := range chosen {
		if selected[label] {
			alone--
		}
	}
	p.Alone = alone
	p.layOut(guests, chosen, all)
	return p
}

func (p *graphPage) layOut(guests map[string]report.Guest, chosen map[string]bool, all []edge.Edge) {
	labels := slices.Sorted(maps.Keys(chosen))
	graph := among(all, chosen)
	layers := graph.Layers(keysOf(labels), edge.NeedsFirst)
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
		n := node{guestLink: p.links.guest(label), Name: label, State: "no manifest names it", Tone: idle, layer: layers[object.Key{Label: label}]}
		if found {
			n.Name, n.State, n.Tone = g.Name, syncBadge(g).Text+", "+healthBadge(g.Health).Text, worst(g)
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
		drawn := make(map[string]bool, maxNodes)
		for _, n := range p.Nodes {
			drawn[n.Label] = true
		}
		graph = among(all, drawn)
	}
	p.place(graph)
}

// among returns the graph of the edges between guests that are drawn.
func among(all []edge.Edge, drawn map[string]bool) *edge.Graph {
	var list []edge.Edge
	for _, e := range all {
		if drawn[e.From.Label] && drawn[e.To.Label] {
			list = append(list, e)
		}
	}
	return edge.New(list)
}

func keysOf(labels []string) []object.Key {
	keys := make([]object.Key, len(labels))
	for i, label := range labels {
		keys[i] = object.Key{Label: label}
	}
	return keys
}

// place draws the nodes that are connected with each other in a band of their own, and the edges.
func (p *graphPage) place(graph *edge.Graph) {
	p.setBands(graph)
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
		top = placeBand(p.Nodes[first:last], top, graph, at) + bandGap
		first = last
	}
	for _, n := range p.Nodes {
		p.Width, p.Height = max(p.Width, n.X+nodeWidth+margin), max(p.Height, n.Y+nodeHeight+margin)
		for e := range graph.From(object.Key{Label: n.Label}, edge.NeedsFirst) {
			from := at[e.To.Label]
			x1, y1, x2, y2 := from.X+nodeWidth, from.Y+nodeHeight/2, n.X, n.Y+nodeHeight/2
			p.Edges = append(p.Edges, curve{fmt.Sprintf("M%d %dC%d %d %d %d %d %d", x1, y1, (x1+x2)/2, y1, (x1+x2)/2, y2, x2, y2)})
		}
	}
}

// setBands numbers the groups of nodes that are connected, in the order of their first names.
func (p *graphPage) setBands(graph *edge.Graph) {
	slices.SortStableFunc(p.Nodes, func(a, b node) int { return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.Label, b.Label)) })
	labels := make([]string, len(p.Nodes))
	for i := range p.Nodes {
		labels[i] = p.Nodes[i].Label
	}
	bands := graph.Groups(keysOf(labels), edge.NeedsFirst)
	for i := range p.Nodes {
		p.Nodes[i].band = bands[object.Key{Label: p.Nodes[i].Label}]
	}
}

// placeBand puts connected nodes, sorted by layer, below top, and returns the lower end. A node is near the middle of the nodes on which it depends. A
// layer that is lower than the band is in its middle.
func placeBand(nodes []node, top int, graph *edge.Graph, at map[string]*node) int {
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
			for e := range graph.From(object.Key{Label: layer[i].Label}, edge.NeedsFirst) {
				if other := at[e.To.Label]; other != nil { // not yet in a cycle
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
	return neighbour{p.links.guest(g.Label()), []badge{syncBadge(g), healthBadge(g.Health)}}
}
