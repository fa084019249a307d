package main

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"gitops-agent/internal/pvesim"
	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/image"
	"gitops-agent/reconcile/kind"
	"gitops-agent/reconcile/kind/pool"
	"gitops-agent/reconcile/kinds"
	"gitops-agent/reconcile/manifest"
	"gitops-agent/reconcile/preflight"
)

// world is a cluster that has what the manifests name. What it has is what the preflight of the agent misses on an empty cluster, so that both know the
// same names.
type world struct {
	nodes, storages, pools []string
	bridges, volumes       []string
	templates              []template
	images                 []image.Desired // whose files are on the web servers that the nodes reach
	existing               []guest.Desired // guests that are there at the start
	firewall               bool            // the firewall of the datacenter is on, since a guest has one
	assumed                []string        // of these, the labels of guests without a source, that the manifests expect to exist
	unknown                []string        // what manifests name and the sandbox cannot make
}

// template is a guest that others clone.
type template struct {
	vmid    int
	name    string
	node    string
	kind    guest.Kind
	storage string
	slot    string
}

// contents are all types of content, which every simulated storage allows.
const contents = "images,rootdir,iso,vztmpl,import,snippets,backup"

// firstTemplate is the vmid of the first template that manifests clone by name.
const firstTemplate = 9000

// deriveWorld returns the cluster that the guests and the other objects of a set need, which the guests are. The nodes are those of the flags and of the
// manifests. The agent makes the pools that have a manifest.
func deriveWorld(guests, existing []guest.Desired, set manifest.Set, nodes []string) world {
	w := world{nodes: slices.Concat(nodes, kinds.NodesOf(set.Objects)), existing: existing, images: set.Images}
	for _, d := range set.Images {
		w.nodes, w.storages = append(w.nodes, d.Nodes...), append(w.storages, d.Storage)
	}
	all := slices.Concat(guests, existing)
	w.firewall = slices.ContainsFunc(all, func(d guest.Desired) bool { return d.Firewall != nil && d.Firewall.Options["enable"] == "1" })
	for _, u := range preflight.UnresolvedOnCluster(all, preflight.ClusterContext{Nodes: []string{}, Pools: []string{}, Storages: []cluster.Storage{}}) {
		switch u.What {
		case "node":
			w.nodes = append(w.nodes, u.Name)
		case "storage":
			w.storages = append(w.storages, u.Name)
		case "pool":
			if !slices.ContainsFunc(set.Objects, func(d kind.Desired) bool { return d.Kind == pool.Name && d.ID == u.Name }) {
				w.pools = append(w.pools, u.Name)
			}
		}
	}
	if len(w.nodes) == 0 {
		w.nodes = []string{"pve1"}
	}
	w.nodes, w.pools = sorted(w.nodes), sorted(w.pools)
	for _, volume := range snippets(all) {
		storage, _, _ := strings.Cut(volume, ":")
		w.storages, w.volumes = append(w.storages, storage), append(w.volumes, volume)
	}
	w.storages = sorted(append(w.storages, "local", "local-lvm"))
	w.addTemplates(guests)
	w.addNames(all)
	w.assumeExisting(guests)
	return w
}

// snippet matches a file that only cloud-init and hooks name. The preflight does not look for it.
var snippet = regexp.MustCompile(`[A-Za-z][A-Za-z0-9._-]*:snippets/[^,\s]+`)

func snippets(guests []guest.Desired) []string {
	var found []string
	for _, d := range guests {
		for _, in := range d.Intents {
			found = append(found, snippet.FindAllString(in.Text, -1)...)
			for _, text := range in.Sub {
				found = append(found, snippet.FindAllString(text, -1)...)
			}
		}
	}
	return found
}

// addNames adds the bridges and volumes. The preflight looks for them only on known nodes and storages, and only for guests with a node.
func (w *world) addNames(guests []guest.Desired) {
	around := preflight.ClusterContext{Nodes: w.nodes}
	for _, name := range w.storages {
		around.Storages = append(around.Storages, cluster.Storage{ID: name, Content: strings.Split(contents, ",")})
	}
	placed := slices.Clone(guests)
	for i := range placed {
		placed[i].Node = cmp.Or(placed[i].Node, w.nodes[0])
	}
	answers := map[preflight.List]preflight.Answer{}
	for _, l := range preflight.Lists(placed, around) {
		answers[l] = preflight.Answer{}
	}
	for _, u := range preflight.UnresolvedOnNodes(placed, around, answers) {
		switch preflight.Kind(u.What) {
		case preflight.Bridge:
			w.bridges = append(w.bridges, u.Name)
		case preflight.Volume:
			w.volumes = append(w.volumes, u.Name)
		case preflight.CPU:
			if strings.HasPrefix(u.Name, "custom-") {
				w.unknown = append(w.unknown, "CPU model "+u.Name)
			}
		}
	}
	w.bridges = sorted(append(w.bridges, "vmbr0"))
	w.volumes = sorted(w.volumes)
}

func sorted(names []string) []string {
	slices.Sort(names)
	return slices.Compact(names)
}

// addTemplates adds one template for each that guests clone. Its volume is as large as the smallest guest wants it, at most 3 GiB.
func (w *world) addTemplates(guests []guest.Desired) {
	type key struct {
		vmid int
		name string
	}
	found := map[key]*template{}
	for i := range guests {
		d := &guests[i]
		c := d.Source.Clone
		if c == nil {
			continue
		}
		k := key{c.VMID, c.Name}
		if found[k] == nil {
			found[k] = &template{vmid: c.VMID, name: c.Name, kind: d.Kind, node: cmp.Or(d.Node, w.nodes[0]), storage: "local-lvm", slot: firstSlot(d)}
		}
	}
	taken := map[int]bool{}
	for i := range guests {
		taken[guests[i].VMID] = true
	}
	for k := range found {
		taken[k.vmid] = true
	}
	next := firstTemplate
	for _, k := range slices.SortedFunc(maps.Keys(found), func(a, b key) int { return cmp.Or(cmp.Compare(b.vmid, a.vmid), cmp.Compare(a.name, b.name)) }) {
		t := found[k]
		for t.vmid == 0 {
			if !taken[next] {
				t.vmid = next
			}
			next++
		}
		t.name = cmp.Or(t.name, "template-"+strconv.Itoa(t.vmid))
		w.templates = append(w.templates, *t)
	}
}

// systemDisk matches the slot that usually has the system.
var systemDisk = regexp.MustCompile(`^(scsi|virtio|sata|ide)0$`)

// firstSlot returns the slot of the template's volume: that of the guest's first disk, or scsi0.
func firstSlot(d *guest.Desired) string {
	if d.Kind == guest.Container {
		return "rootfs"
	}
	for i := range d.Intents {
		if in := &d.Intents[i]; systemDisk.MatchString(in.Key) && in.Verb == guest.Want && in.Sub["media"] != "cdrom" && in.Sub["volume"] != "cloudinit" {
			return in.Key
		}
	}
	return "scsi0"
}

// assumeExisting lets guests that have no source exist at the start, since their manifests only describe them.
func (w *world) assumeExisting(guests []guest.Desired) {
	for i := range guests {
		d := guests[i]
		known := slices.ContainsFunc(w.existing, func(e guest.Desired) bool { return e.VMID == d.VMID })
		if d.Source == (guest.Source{}) && d.VMID != 0 && !known {
			w.existing, w.assumed = append(w.existing, d), append(w.assumed, fmt.Sprintf("%s (%d)", d.Label(), d.VMID))
		}
	}
}

// start makes the cluster. The options are what does not follow from the manifests.
func (w *world) start(opts pvesim.Options) (*pvesim.Sim, error) {
	opts.Nodes, opts.Bridges = w.nodes, w.bridges
	for _, name := range w.storages {
		s := pvesim.Storage{ID: name, Type: "dir", Path: "/mnt/" + name, Content: contents, Shared: true, Size: 16 << 40}
		if name == "local-lvm" {
			s.Type, s.Path, s.Content = "lvmthin", "", "images,rootdir"
		}
		opts.Storages = append(opts.Storages, s)
	}
	sim := pvesim.New(opts)
	if w.firewall {
		sim.EnableFirewall()
	}
	var problems []error
	for _, name := range w.pools {
		sim.AddPool(name, "")
	}
	for _, id := range w.volumes {
		if err := sim.AddVolume(id, 2<<30); err != nil {
			w.unknown = append(w.unknown, "volume "+id)
		}
	}
	for _, t := range w.templates {
		problems = append(problems, t.add(sim))
	}
	publish(sim, w.images)
	for i := range w.existing {
		problems = append(problems, w.addExisting(sim, &w.existing[i]))
	}
	if err := errors.Join(problems...); err != nil {
		sim.Close()
		return nil, err
	}
	return sim, nil
}

func (t template) add(sim *pvesim.Sim) error {
	g := pvesim.Guest{VMID: t.vmid, Node: t.node}
	var err error
	if t.kind == guest.Container {
		g.Config = fmt.Sprintf("hostname: %s\nmemory: 512\nunprivileged: 1\nrootfs: %s:2\ntemplate: 1\n", t.name, t.storage)
		_, err = sim.AddCT(g)
	} else {
		g.Config = fmt.Sprintf("name: %s\nmemory: 1024\ncores: 1\nostype: l26\nscsihw: virtio-scsi-single\nnet0: virtio,bridge=vmbr0\n%s: %s:3\nide2: %s:cloudinit,media=cdrom\nagent: 1\nserial0: socket\n",
			t.name, t.slot, t.storage, t.storage)
		_, err = sim.AddTemplate(g)
	}
	if err != nil {
		return fmt.Errorf("template %s: %w", t.name, err)
	}
	return nil
}

// addExisting adds a guest as its manifest describes it, without an owner.
func (w *world) addExisting(sim *pvesim.Sim, d *guest.Desired) error {
	blank := *d
	blank.Source, blank.Secrets, blank.Marker = guest.Source{Blank: true}, nil, ""
	params, err := guest.CreateParams(blank)
	if err != nil {
		return fmt.Errorf("existing guest %s: %w", d.Label(), err)
	}
	for _, key := range []string{"vmid", "node", "pool", "storage", "ostemplate", "start", "unique", "force"} {
		delete(params, key)
	}
	var lines []string
	for _, key := range slices.Sorted(maps.Keys(params)) {
		lines = append(lines, key+": "+strings.ReplaceAll(params[key], "\n", "%0A"))
	}
	g := pvesim.Guest{VMID: d.VMID, Node: cmp.Or(d.Node, w.nodes[0]), Config: strings.Join(lines, "\n") + "\n", Running: d.State == guest.Running}
	if d.Kind == guest.Container {
		_, err = sim.AddCT(g)
	} else {
		_, err = sim.AddVM(g)
	}
	if err != nil {
		return fmt.Errorf("existing guest %s: %w", d.Label(), err)
	}
	return nil
}

// secretNames returns the files of secrets that the guests name.
func secretNames(guests []guest.Desired) []string {
	var names []string
	for _, d := range guests {
		for _, s := range d.Secrets {
			if s.File != "" && s.Encrypted.Path == "" {
				names = append(names, s.File)
			}
		}
	}
	return sorted(names)
}

// readExisting parses the manifests of existing guests. A Cluster is added if there is none.
func readExisting(path string) ([]guest.Desired, error) {
	if path == "" {
		return nil, nil
	}
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	dir, only := path, ""
	if !info.IsDir() {
		dir, only = filepath.Dir(path), filepath.Base(path)
	}
	var files []manifest.File
	hasCluster := false
	names, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		if only != "" && name.Name() != only || only == "" && !isManifest(name.Name()) {
			continue
		}
		data, err := os.ReadFile(filepath.Join(dir, name.Name())) //nolint:gosec // the user names it
		if err != nil {
			return nil, err
		}
		hasCluster = hasCluster || clusterDocument.Match(data)
		files = append(files, manifest.File{Path: name.Name(), Data: data})
	}
	if !hasCluster {
		files = append(files, manifest.File{Path: "cluster-of-the-sandbox.yaml", Data: []byte("apiVersion: proxmox.gitops/v1alpha1\nkind: Cluster\nmetadata: {name: existing}\nspec: {vmids: {from: 100, to: 999999999}}\n")})
	}
	set, err := manifest.Parse(files)
	if err != nil {
		return nil, fmt.Errorf("--existing: %w", err)
	}
	guests, err := set.Lower(nil)
	for i := range guests {
		if guests[i].VMID == 0 {
			err = errors.Join(err, fmt.Errorf("--existing: %s has no vmid", guests[i].Label()))
		}
	}
	return guests, err
}

var clusterDocument = regexp.MustCompile(`(?m)^kind: *Cluster\b`)
