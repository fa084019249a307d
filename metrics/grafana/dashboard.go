package grafana

// Dashboard is a dashboard in the form that Grafana imports.
type Dashboard struct {
	UID           string         `json:"uid"`
	Title         string         `json:"title"`
	Description   string         `json:"description"`
	Tags          []string       `json:"tags"`
	SchemaVersion int            `json:"schemaVersion"`
	Version       int            `json:"version"`
	Editable      bool           `json:"editable"`
	GraphTooltip  int            `json:"graphTooltip"` // 1 shares the crosshair
	Refresh       string         `json:"refresh"`
	Time          map[string]any `json:"time"`
	Timezone      string         `json:"timezone"`
	Templating    list           `json:"templating"`
	Annotations   list           `json:"annotations"`
	Links         []object       `json:"links"`
	Panels        []Panel        `json:"panels"`
}

// Panel is one panel of a dashboard, or a row.
type Panel struct {
	ID          int      `json:"id"`
	Type        string   `json:"type"`
	Title       string   `json:"title"`
	Description string   `json:"description,omitempty"`
	GridPos     position `json:"gridPos"`
	Datasource  object   `json:"datasource,omitempty"`
	Targets     []target `json:"targets,omitempty"`
	FieldConfig object   `json:"fieldConfig,omitempty"`
	Options     object   `json:"options,omitempty"`
	Transforms  []object `json:"transformations,omitempty"`
	Collapsed   *bool    `json:"collapsed,omitempty"` // of a row
	Panels      []Panel  `json:"panels,omitempty"`
}

type position struct {
	H int `json:"h"`
	W int `json:"w"`
	X int `json:"x"`
	Y int `json:"y"`
}

type target struct {
	RefID      string `json:"refId"`
	Datasource object `json:"datasource"`
	Expr       string `json:"expr"`
	Legend     string `json:"legendFormat,omitempty"`
	Format     string `json:"format,omitempty"`
	Instant    bool   `json:"instant,omitempty"`
	Exemplar   bool   `json:"exemplar,omitempty"`
}

type object = map[string]any

type list struct {
	List []object `json:"list"`
}

// runbook is the page of what to do, in the example address that docs/operations.md tells to replace.
const runbook = "https://github.com/example/gitops-agent/blob/main/docs/operations.md"

// dataSource refers to the variable with which a person chooses the data source.
func dataSource() object { return object{"type": "prometheus", "uid": "${datasource}"} }

// newDashboard returns a dashboard with the variables, annotations and links that all dashboards have.
func newDashboard(uid, title, description string, panels ...Panel) Dashboard {
	return Dashboard{
		UID: uid, Title: title, Description: description, Tags: []string{"gitops-agent"}, SchemaVersion: 39, Version: 1, Editable: true, GraphTooltip: 1,
		Refresh: "30s", Time: object{"from": "now-6h", "to": "now"}, Timezone: "browser",
		Templating: list{[]object{
			{"name": "datasource", "label": "Data source", "type": "datasource", "query": "prometheus"},
			variable("cluster", "Cluster", `label_values(gitops_agent_cluster_info, cluster)`, ""),
			variable("instance", "Agent", `label_values(gitops_agent_cluster_info{cluster=~"$cluster"}, instance)`, ""),
		}},
		Annotations: list{[]object{
			annotation("Accepted revisions", "green", "{{ref}} {{commit}}",
				`count by (ref, commit) (gitops_agent_source_info{instance=~"$instance"}) unless count by (ref, commit) (gitops_agent_source_info{instance=~"$instance"} offset 1m)`),
			annotation("Refused revisions", "red", "{{reason}}", `sum by (reason) (increase(gitops_agent_revisions_refused_total{instance=~"$instance"}[1m])) > 0`),
		}},
		Links: []object{
			{"type": "dashboards", "title": "gitops-agent", "tags": []string{"gitops-agent"}, "asDropdown": true, "includeVars": true, "keepTime": true},
			{"type": "link", "title": "Status page", "url": "http://${instance}/", "targetBlank": true},
			{"type": "link", "title": "Runbook", "url": runbook, "targetBlank": true},
		},
		Panels: arrange(panels),
	}
}

// variable returns a variable with the values of a query, several of which can be chosen. Pattern takes text and value out of a result; "" uses it as it is.
func variable(name, label, query, pattern string) object {
	return object{
		"name": name, "label": label, "type": "query", "datasource": dataSource(), "query": object{"query": query, "refId": name}, "definition": query,
		"regex": pattern, "refresh": 2, "sort": 1, "multi": true, "includeAll": true, "allValue": ".*", "current": object{"text": []string{"All"}, "value": []string{"$__all"}},
	}
}

func annotation(name, color, text, expr string) object {
	return object{
		"name": name, "enable": true, "iconColor": color, "datasource": dataSource(), "expr": expr, "step": "60s", "titleFormat": name, "textFormat": text,
	}
}

// arrange gives panels their ids and places, from left to right. A row begins a new line.
func arrange(panels []Panel) []Panel {
	x, y, height := 0, 0, 0
	for i := range panels {
		p := &panels[i]
		p.ID = i + 1
		if x+p.GridPos.W > 24 {
			x, y, height = 0, y+height, 0
		}
		p.GridPos.X, p.GridPos.Y = x, y
		x, height = x+p.GridPos.W, max(height, p.GridPos.H)
	}
	return panels
}

// row returns the title of the panels that follow.
func row(title string) Panel {
	open := false
	return Panel{Type: "row", Title: title, GridPos: position{H: 1, W: 24}, Collapsed: &open}
}

// query is an expression with the legend of its series.
type query struct{ expr, legend string }

// panel returns a panel of a type. The thresholds are pairs of a bound and a color after the first color.
func panel(kind, title, description, unit string, width int, queries ...query) Panel {
	p := Panel{
		Type: kind, Title: title, Description: description, GridPos: position{H: 8, W: width}, Datasource: dataSource(),
		FieldConfig: object{"defaults": object{"unit": unit, "thresholds": steps("green")}, "overrides": []object{}},
	}
	for i, q := range queries {
		p.Targets = append(p.Targets, target{RefID: string(rune('A' + i)), Datasource: dataSource(), Expr: q.expr, Legend: q.legend})
	}
	return p
}

func series(title, description, unit string, width int, queries ...query) Panel {
	p := panel("timeseries", title, description, unit, width, queries...)
	p.Options = object{"legend": object{"displayMode": "table", "placement": "bottom", "calcs": []string{"lastNotNull", "max"}}, "tooltip": object{"mode": "multi", "sort": "desc"}}
	return p
}

// stat returns a panel with the newest value. It is green, and from each bound on in the color that follows the bound.
func stat(title, description, unit string, width int, q query, thresholds ...any) Panel {
	p := panel("stat", title, description, unit, width, q)
	p.GridPos.H, p.Targets[0].Instant = 4, true
	p.FieldConfig["defaults"].(object)["thresholds"] = steps("green", thresholds...)
	p.Options = object{"reduceOptions": object{"calcs": []string{"lastNotNull"}}, "colorMode": "value", "graphMode": "none", "textMode": "auto"}
	return p
}

// lowIsBad returns a stat that is red below the first bound and orange below the second one.
func lowIsBad(p Panel, red, orange float64) Panel {
	p.FieldConfig["defaults"].(object)["thresholds"] = steps("red", red, "orange", orange, "green")
	return p
}

// states returns a panel that shows by name which of several states holds at each time.
func states(title, description string, width int, queries ...query) Panel {
	p := panel("state-timeline", title, description, "none", width, queries...)
	p.Options = object{"showValue": "never", "mergeValues": true, "legend": object{"displayMode": "list", "placement": "bottom"}}
	return p
}

func table(title, description string, width int, queries ...query) Panel {
	p := panel("table", title, description, "none", width, queries...)
	for i := range p.Targets {
		p.Targets[i].Format, p.Targets[i].Instant = "table", true
	}
	p.Transforms = []object{{"id": "merge", "options": object{}}, {"id": "organize", "options": object{"excludeByName": object{"Time": true, "job": true, "__name__": true}}}}
	p.Options = object{"showHeader": true}
	return p
}

// heatmap returns a panel of the increase of a histogram's buckets.
func heatmap(title, description, unit string, width int, q query) Panel {
	p := panel("heatmap", title, description, unit, width, q)
	p.Targets[0].Format = "heatmap"
	p.Options = object{
		"calculate": false, "yAxis": object{"unit": unit}, "color": object{"mode": "scheme", "scheme": "Blues", "steps": 32}, "exemplars": object{"color": "orange"},
	}
	return withExemplars(p)
}

// withExemplars returns a panel that also shows the exemplars of its first query.
func withExemplars(p Panel) Panel {
	p.Targets[0].Exemplar = true
	return p
}

// bars returns a panel with one bar for each series.
func bars(title, description, unit string, width int, q query) Panel {
	p := panel("bargauge", title, description, unit, width, q)
	p.Targets[0].Instant = true
	p.Options = object{"displayMode": "basic", "orientation": "horizontal", "reduceOptions": object{"calcs": []string{"lastNotNull"}}}
	return p
}

// steps returns thresholds: a first color, then pairs of a bound and a color.
func steps(first string, pairs ...any) object {
	list := []object{{"color": first, "value": nil}}
	for i := 0; i+1 < len(pairs); i += 2 {
		list = append(list, object{"color": pairs[i+1], "value": pairs[i]})
	}
	return object{"mode": "absolute", "steps": list}
}
