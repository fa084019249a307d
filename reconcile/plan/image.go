package plan

import (
	"cmp"
	"fmt"
	"slices"

	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/image"
	"gitops-agent/reconcile/journal"
	"gitops-agent/reconcile/reason"
)

// Images are the Images that manifests describe, and what the plan needs to know about them.
type Images struct {
	Wanted     []image.Desired
	Downloaded map[journal.FileOn]journal.File // by the agent
	Open       []journal.OpenStep              // steps that have not ended
	Allowed    func(server string) bool        // reports whether the host of the agent allows downloads from a server; nil allows none

	only string // the label of the one Image that is planned; "" plans all
}

// For returns the Images, of which only the one with a label is planned.
func (i Images) For(label string) Images {
	i.only = label
	return i
}

func (i Images) isPlanned(ref guest.Ref) bool { return i.only == "" || i.only == ref.Label() }

// Places returns where files of Images have to be read, each place once: where the files of manifests have to be, and where former files are.
func (i Images) Places(inventory cluster.Inventory) []cluster.FilePlace {
	var planned []image.Desired
	for _, d := range i.Wanted {
		if i.isPlanned(d.Ref()) {
			planned = append(planned, d)
		}
	}
	places := ImagePlaces(planned, inventory)
	for _, record := range i.Formers(inventory) {
		places = append(places, formerPlace(record, inventory))
	}
	slices.SortFunc(places, cluster.FilePlace.Compare)
	return slices.Compact(places)
}

// planImages plans the Images of manifests, and the deletion of former files.
func planImages(want Desired, got cluster.Snapshot) []Guest {
	var planned []Guest
	for _, d := range want.Images.Wanted {
		if want.Images.isPlanned(d.Ref()) {
			planned = append(planned, planImage(want.Images, d, got))
		}
	}
	return planFormers(want, planned, got)
}

// ImagePlaces returns where the files of the Images have to be, each place once: on their nodes, of those that share the storage on the first that can use it, or on
// some node that has guests if the manifest lists no nodes.
func ImagePlaces(wanted []image.Desired, inventory cluster.Inventory) []cluster.FilePlace {
	var places []cluster.FilePlace
	for _, d := range wanted {
		for _, node := range imageNodes(d, inventory) {
			places = append(places, placeOf(d, node))
		}
	}
	slices.SortFunc(places, cluster.FilePlace.Compare)
	return slices.Compact(places)
}

func placeOf(d image.Desired, node string) cluster.FilePlace {
	return cluster.FilePlace{Node: node, Storage: d.Storage, Content: string(d.Content)}
}

// imageNodes returns the nodes on which an Image is looked for. Without nodes in the manifest it is the first node that is online and has a guest, so that
// every cycle chooses the same one; without guests, the first one that can use the storage. Of listed nodes that share the storage it is one, since
// they have one file.
func imageNodes(d image.Desired, inventory cluster.Inventory) []string {
	if len(d.Nodes) > 0 {
		return withoutSharers(d, inventory)
	}
	first := ""
	try := func(node string) {
		if (first == "" || node < first) && !slices.Contains(inventory.Offline, node) && !slices.Contains(inventory.Maintenance, node) {
			first = node
		}
	}
	for _, row := range inventory.Rows {
		try(row.Node)
	}
	for _, s := range inventory.Capacity.Storages {
		if len(inventory.Rows) == 0 && s.Storage == d.Storage && s.Available {
			try(s.Node)
		}
	}
	if first == "" {
		return nil
	}
	return []string{first}
}

// withoutSharers returns the nodes of a manifest, of those that share the storage only the first that can use it, or the first of all if none can.
func withoutSharers(d image.Desired, inventory cluster.Inventory) []string {
	shared := sharers(d, inventory)
	if len(shared) < 2 {
		return d.Nodes
	}
	at := max(0, slices.IndexFunc(shared, func(node string) bool {
		return !slices.Contains(inventory.Offline, node) && !slices.Contains(inventory.Maintenance, node) &&
			isAvailable(node, d.Storage, inventory)
	}))
	return slices.DeleteFunc(slices.Clone(d.Nodes), func(node string) bool { return node != shared[at] && slices.Contains(shared, node) })
}

// sharers returns the nodes of a manifest that share its storage, as the inventory shows, sorted.
func sharers(d image.Desired, inventory cluster.Inventory) []string {
	var nodes []string
	for _, node := range d.Nodes {
		if isShared(node, d.Storage, inventory) {
			nodes = append(nodes, node)
		}
	}
	return nodes
}

// isShared reports whether the inventory shows that a node shares a storage with others.
func isShared(node, storage string, inventory cluster.Inventory) bool {
	s, listed := inventory.Capacity.Storage(node, storage)
	return listed && s.Shared
}

// isAvailable reports whether the inventory shows that a node can use a storage now.
func isAvailable(node, storage string, inventory cluster.Inventory) bool {
	s, listed := inventory.Capacity.Storage(node, storage)
	return listed && s.Available
}

// planImage plans one Image: a download for each node that lacks its file. If there is a file of this name that the agent did not download, or whose size
// has changed since, the state of the Image is unknown, and nothing is downloaded there.
func planImage(images Images, d image.Desired, got cluster.Snapshot) Guest {
	p := Guest{Ref: d.Ref(), Origin: d.Origin, Managed: true, file: d.Volume()}
	server := d.Server()
	never := d.NeverDownloads()
	denied := images.Allowed == nil || !images.Allowed(server)
	nodes := imageNodes(d, got.Inventory)
	if len(nodes) == 0 {
		p.Conditions = append(p.Conditions, Condition{
			Type: NotObserved, Reason: reason.NotObserved, Message: "no node is online that could show the storage " + d.Storage,
			Hint: reason.NameNode.Text,
		})
		p.lacks("", p.Conditions[0].Message)
		return p
	}
	shared := sharers(d, got.Inventory)
	p.keptOn = nodes
	if len(d.Nodes) > 0 {
		p.keptOn = d.Nodes
	}
	for _, node := range nodes {
		why, doubt := fileOn(images, d, node, got)
		switch {
		case why == "":
			continue
		case doubt != nil:
			p.Conditions = append(p.Conditions, *doubt)
		default:
			step := downloadStep(d, node)
			if _, known := images.record(d, node, got.Inventory); known {
				p.Lost = append(p.Lost, step.Changes[0].Key)
			}
			p.Changes = append(p.Changes, step.Changes...)
			if !denied && never == "" {
				p.Steps = append(p.Steps, step)
			}
		}
		switch {
		case len(d.Nodes) == 0:
			p.lacks("", why)
		case slices.Contains(shared, node):
			for _, sharer := range shared {
				p.lacks(sharer, why)
			}
		default:
			p.lacks(node, why)
		}
	}
	p.Present = len(p.Lacking) == 0
	p.lacksElsewhere(d, nodes[0], got.Inventory)
	if never != "" && len(p.Changes) > 0 {
		p.Conditions = append(p.Conditions, Condition{
			Type: Blocked, Reason: reason.Impossible, Message: fmt.Sprintf("this release refuses the manifest, which was accepted before: %s: spec.decompression: %s", d.Origin, never),
			Hint: reason.Decompress.Text,
		})
	}
	if denied && len(p.Changes) > 0 {
		p.Conditions = append(p.Conditions, Condition{
			Type: Blocked, Reason: reason.NotAllowed, Message: fmt.Sprintf("the host of the agent does not allow downloads from %s", server),
			Hint: reason.AllowServer.With(server),
		})
	}
	return p
}

// lacks notes why nothing can be created from the Image on a node; "" means every node.
func (g *Guest) lacks(node, why string) {
	if g.Lacking == nil {
		g.Lacking = make(map[string]string)
	}
	g.Lacking[node] = why
}

// lacksElsewhere notes on which nodes the file of an Image without nodes is not kept: each node that has the storage for itself, apart from the one on which the
// file is looked for. A guest there waits, since Proxmox could not create it.
func (g *Guest) lacksElsewhere(d image.Desired, node string, inventory cluster.Inventory) {
	if len(d.Nodes) > 0 {
		return
	}
	alone := fmt.Sprintf("the manifest lists no nodes, and the nodes do not share the storage %s, so the file is kept on %s alone", d.Storage, node)
	others := false
	for _, s := range inventory.Capacity.Storages {
		if s.Storage == d.Storage && s.Node != node && !s.Shared {
			g.lacks(s.Node, alone+"; list the nodes in spec.nodes of the Image")
			others = true
		}
	}
	if others {
		g.Conditions = append(g.Conditions, Condition{
			Type: Warned, Reason: reason.OtherNode, Message: alone, Hint: reason.ListNodes.Text,
		})
	}
}

// fileOn returns why nothing can be created from an Image on a node, "" if its file is there, and the condition if the agent cannot simply download it.
func fileOn(images Images, d image.Desired, node string, got cluster.Snapshot) (why string, doubt *Condition) {
	unknown := func(because reason.Name, message, hint string) (string, *Condition) {
		return message, &Condition{Type: NotObserved, Reason: because, Message: message, Hint: hint}
	}
	files, read := got.Files[placeOf(d, node)]
	size, exists := files.Sizes[d.Volume()]
	switch {
	case files.Err != "":
		return unknown(reason.NotObserved, fmt.Sprintf("the files in %s on %s could not be read: %s", d.Storage, node, files.Err), "")
	case !read || files.ReadAt.IsZero():
		return unknown(reason.NotObserved, fmt.Sprintf("the files in %s on %s were not read yet", d.Storage, node), "")
	case slices.Contains(OpenDeletions(images.Open, node, got.Inventory), d.Volume()):
		return unknown(reason.NotObserved, fmt.Sprintf("the deletion of %s on %s has not ended", d.Volume(), node),
			reason.AwaitDeletion.Text)
	case !exists:
		return "it has not been downloaded on " + node, nil
	}
	record, recorded := images.record(d, node, got.Inventory)
	switch {
	case !recorded:
		return unknown(reason.NotManaged, fmt.Sprintf("%s is on %s, and the agent did not download it", d.Volume(), node),
			reason.RemoveForeignFile.Text)
	case record.Size != size:
		return unknown(reason.NotManaged, fmt.Sprintf("%s on %s has %d bytes, and had %d when the agent downloaded it", d.Volume(), node, size, record.Size),
			reason.RemoveChangedFile.Text)
	}
	return "", nil
}

// record returns the record about the file of an Image on a node. On a shared storage another node may have downloaded it: the newest record counts.
func (i Images) record(d image.Desired, node string, inventory cluster.Inventory) (journal.File, bool) {
	volume := d.Volume()
	if !isShared(node, d.Storage, inventory) && (len(d.Nodes) > 0 || isLocal(node, d.Storage, inventory)) {
		record, found := i.Downloaded[journal.FileOn{Node: node, Volume: volume}]
		return record, found
	}
	newest, found := journal.File{}, false
	for on, record := range i.Downloaded {
		if on.Volume == volume && (!found || isNewer(record, newest)) {
			newest, found = record, true
		}
	}
	return newest, found
}

// isNewer reports whether a record is newer than another one, of two with the same time that of the last node.
func isNewer(record, than journal.File) bool {
	return cmp.Or(record.Time.Compare(than.Time), cmp.Compare(record.Node, than.Node)) > 0
}

// downloadStep returns the step in which a node downloads the file of an Image. A repetition does no harm: Proxmox never overwrites a file.
func downloadStep(d image.Desired, node string) Step {
	params := map[string]string{
		cluster.ParamStorage: d.Storage, cluster.ParamContent: string(d.Content), cluster.ParamFile: d.File(), "url": d.URL,
		"checksum": d.Checksum, "checksum-algorithm": d.Algorithm,
	}
	if d.Decompression != "" {
		params["compression"] = d.Decompression
	}
	return Step{
		Guest: d.Ref(), Op: cluster.OpDownload, Class: guest.Live, Reason: "it is not on " + node, CopyTargets: []string{d.Storage}, File: d.Origin.File, Prunes: d.Prune,
		Changes: []guest.Change{{Key: "file on " + node, To: d.Volume(), Class: guest.Live, Write: guest.WriteSet, Value: d.Volume(), Origin: d.Origin}},
		Calls:   []cluster.Call{{Op: cluster.OpDownload, Node: node, Params: params}},
	}
}
