package volumes

import (
	"cmp"
	"context"
	"slices"
	"time"

	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/guest"
)

// frame is what has to be known of the cluster before its guests are read.
type frame struct {
	started   time.Time
	inventory cluster.Inventory
	online    map[string]bool // by node
	layout    layout
	replicas  map[int][]string           // nodes with copies of the guest's local volumes, by vmid
	versions  map[int]uint64             // of the guests' configurations, from the vmlist file; nil without it
	parts     map[string]**flight[*part] // the guests of each node, read after the rest; the mutex of the Source guards it
}

// readFrame reads a frame: five requests. It fails if the token may not see every guest.
func (s *Source) readFrame(ctx context.Context) (*frame, error) {
	f := &frame{started: time.Now(), online: make(map[string]bool), replicas: make(map[int][]string), versions: s.readVersions(), parts: make(map[string]**flight[*part])}
	if err := s.checkAudit(ctx); err != nil {
		return nil, err
	}
	nodes, err := s.reader.Nodes(ctx)
	if err != nil {
		return nil, unreadable("the list of nodes", err)
	}
	for _, node := range nodes {
		f.online[node.Name] = node.Online
	}
	storages, err := s.reader.StorageConfigs(ctx)
	if err != nil {
		return nil, unreadable("the list of storages", err)
	}
	f.layout = newLayout(storages)
	jobs, err := s.reader.Replications(ctx)
	if err != nil {
		return nil, unreadable("the list of replication jobs", err)
	}
	for _, job := range jobs {
		f.replicas[job.VMID] = append(f.replicas[job.VMID], job.Target)
	}
	if f.inventory, err = s.reader.Inventory(ctx); err != nil {
		return nil, unreadable("the list of guests", err)
	}
	return f, nil
}

// relevantNodes returns the nodes whose guests may use the touched volumes when a node acts on them, sorted. A node without guests does not matter.
func (f *frame) relevantNodes(node string, touches []cluster.Touch) []string {
	var nodes []string
	for _, row := range f.inventory.Rows {
		if !slices.Contains(nodes, row.Node) && slices.ContainsFunc(touches, func(t cluster.Touch) bool { return f.mayUse(row, node, t) }) {
			nodes = append(nodes, row.Node)
		}
	}
	slices.Sort(nodes)
	return nodes
}

// mayUse reports whether the guest of a row can access a volume on which a node acts, or has copies of its own volumes there.
func (f *frame) mayUse(row cluster.Row, node string, t cluster.Touch) bool {
	storage := guest.VolumeStorage(t.Volume)
	if row.Node == node || slices.Contains(f.replicas[row.VMID], node) {
		return true
	}
	return t.Effect != cluster.Migrates && (t.Volume == "" || f.layout.isShared(storage)) && f.layout.reaches(storage, row.Node)
}

// offlineNode returns the first of the nodes that is offline, or "".
func (f *frame) offlineNode(nodes []string) string {
	for _, node := range nodes {
		if !f.online[node] {
			return node
		}
	}
	return ""
}

// layout knows which storages share volumes.
type layout struct {
	storages map[string]cluster.Storage
	same     map[string]string // the first storage with the same volumes, by storage
}

func newLayout(storages []cluster.Storage) layout {
	l := layout{storages: make(map[string]cluster.Storage, len(storages)), same: cluster.SameStorages(storages)}
	for _, s := range storages {
		l.storages[s.ID] = s
	}
	return l
}

// key returns the same text for all ids of a volume, also through another storage with the same volumes.
func (l layout) key(volume string) string {
	key := guest.VolumeKey(volume)
	storage := guest.VolumeStorage(volume)
	return cmp.Or(l.same[storage], storage) + key[len(storage):]
}

// isShared reports whether all nodes see the same volumes on a storage. A storage that the token may not see is assumed to be shared. So is one of
// several storages with the same volumes if another one is.
func (l layout) isShared(storage string) bool {
	s, known := l.storages[storage]
	if !known || s.Shared {
		return true
	}
	for id, first := range l.same {
		if first == l.same[storage] && l.storages[id].Shared && l.same[storage] != "" {
			return true
		}
	}
	return false
}

// reaches reports whether a node has a storage.
func (l layout) reaches(storage, node string) bool {
	s, known := l.storages[storage]
	if !known || len(s.Nodes) == 0 || slices.Contains(s.Nodes, node) {
		return true
	}
	for id, first := range l.same {
		if other := l.storages[id]; first == l.same[storage] && (len(other.Nodes) == 0 || slices.Contains(other.Nodes, node)) {
			return true
		}
	}
	return false
}
