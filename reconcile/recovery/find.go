package recovery

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/journal"
	"gitops-agent/reconcile/manifest"
)

// Input is what Find compares.
type Input struct {
	Cluster string
	Guests  []guest.Desired // of the accepted revision, with the assigned vmids
	VMIDs   manifest.Range  // of the Cluster
	Owned   map[int]journal.Owned
	Got     cluster.Snapshot
}

// Find returns every guest that has a marker and no record that explains it: the guests that manifests name, and other guests of the Cluster's
// range. A guest is claimable only if its vmid, kind and name are those of a manifest, its marker is on no other guest and in no record, and its
// uuid contradicts nothing.
func Find(in Input) Found {
	s := search{Input: in}
	result := Found{Result: Result{Guests: []Guest{}}}
	for _, row := range in.Got.Inventory.Rows {
		if row.Tags == "" || s.isExplained(row) {
			continue
		}
		markers := guest.Markers(row.Tags)
		if len(markers) == 0 {
			continue
		}
		if g, relevant := s.judge(row, markers); relevant {
			result.Guests = append(result.Guests, g)
		}
	}
	result.Guests = append(result.Guests, s.hidden()...)
	slices.SortFunc(result.Guests, func(a, b Guest) int { return cmp.Compare(a.VMID, b.VMID) })
	claims := result.Claims()
	result.Digest = digest(in.Cluster, claims)
	result.wanted, result.live = make(map[int]guest.Desired, len(claims)), make(map[int]guest.Observed, len(claims))
	for _, g := range claims {
		result.wanted[g.VMID], result.live[g.VMID] = *s.byVMID[g.VMID], in.Got.Guests[g.VMID]
	}
	return result
}

// search is one search, with indexes that are made when the first marked guest without a record is found.
type search struct {
	Input
	byVMID  map[int]*guest.Desired
	markers map[string][]int // vmids of the guests and of the records with a marker
}

// isExplained reports whether the record of the row's vmid has the marker of the row.
func (s *search) isExplained(row cluster.Row) bool {
	o, owned := s.Owned[row.VMID]
	return owned && o.Tag != "" && strings.Contains(row.Tags, o.Tag)
}

func (s *search) index() {
	if s.byVMID != nil {
		return
	}
	s.byVMID, s.markers = make(map[int]*guest.Desired, len(s.Guests)), make(map[string][]int)
	for i := range s.Guests {
		s.byVMID[s.Guests[i].VMID] = &s.Guests[i]
	}
	note := func(marker string, vmid int) {
		if !slices.Contains(s.markers[marker], vmid) {
			s.markers[marker] = append(s.markers[marker], vmid)
		}
	}
	for _, row := range s.Got.Inventory.Rows {
		for _, marker := range guest.Markers(row.Tags) {
			note(marker, row.VMID)
		}
	}
	for vmid, o := range s.Owned {
		note(o.Tag, vmid)
	}
}

// judge returns the guest of a row with its verdict, and whether the guest concerns this agent.
func (s *search) judge(row cluster.Row, markers []string) (Guest, bool) {
	s.index()
	g := Guest{Kind: row.Kind, VMID: row.VMID, Name: row.Name, Node: row.Node, Marker: markers[0]}
	d, named := s.byVMID[row.VMID]
	if !named || row.VMID == 0 {
		return s.judgeUnnamed(g)
	}
	g.Manifest = d.Label()
	live, seen := s.Got.Guests[row.VMID]
	if seen {
		g.Kind, g.Name, g.UUID = live.Kind, live.Name, guest.SMBIOSUUID(live)
		if markers = guest.Markers(live.Keys["tags"].Text); len(markers) > 0 {
			g.Marker = markers[0]
		}
	}
	record, owned := s.Owned[row.VMID]
	switch other := s.otherWith(g.Marker, g.VMID); {
	case owned && (record.Claiming || seen && slices.Contains(markers, record.Tag)):
		return g, false // the record is new, or the inventory is older than the reading
	case owned:
		g.refuse(OtherRecord, "the record of its vmid has the marker "+record.Tag,
			"if the record is outdated: remove the manifest, then the tag "+g.Marker+", and adopt the guest with spec.adopt: ifUnmanaged")
	case len(markers) > 1:
		g.refuse(SeveralMarkers, "it has the markers "+strings.Join(markers, " and "), "remove the markers that are not its own")
	case other != 0:
		g.refuse(Copied, fmt.Sprintf("guest %d has the same marker, so one of them is a copy", other), fmt.Sprintf("remove the tag %s from the copy", g.Marker))
	case !seen:
		g.refuse(NotRead, cmp.Or(s.Got.ReadErrors[row.VMID], "it was not read yet"), "wait until the agent has read the guest")
	case len(markers) == 0:
		return g, false // removed since the inventory
	case cluster.PartlyCreated(live):
		g.refuse(PartlyCreated, "it is locked ("+live.Lock+")", "wait, or repair or remove the guest by hand")
	case g.Kind != d.Kind:
		g.refuse(OtherKind, "the manifest "+g.Manifest+" has its vmid", "correct the manifest's kind or vmid")
	case g.Name != d.NameInProxmox():
		g.refuse(OtherName, "the manifest "+g.Manifest+" has its vmid", "if they are the same guest, give the guest or the manifest the name of the other")
	default:
		s.judgeUUID(&g, d)
	}
	return g, true
}

// judgeUUID decides on a guest that matches its manifest apart from the uuid.
func (s *search) judgeUUID(g *Guest, d *guest.Desired) {
	if wanted := d.WantedUUID(); wanted != "" && wanted != g.UUID {
		g.refuse(OtherUUID, "the manifest names the uuid "+wanted+", and the guest has "+cmp.Or(g.UUID, "none"), "correct the uuid in the manifest, if the guest is the right one")
		return
	}
	if g.UUID != "" {
		for vmid, live := range s.Got.Guests {
			if vmid != g.VMID && guest.SMBIOSUUID(live) == g.UUID {
				g.refuse(OtherUUID, "guest "+strconv.Itoa(vmid)+" has the same uuid, so one of them is a copy", "find out which guest is the original, and remove the tag "+g.Marker+" from the copy")
				return
			}
		}
		for vmid, o := range s.Owned {
			if vmid != g.VMID && o.UUID == g.UUID {
				g.refuse(OtherUUID, "the record of guest "+strconv.Itoa(vmid)+" has the same uuid", "find out which guest is the original, and remove the tag "+g.Marker+" from the copy")
				return
			}
		}
	}
	g.Verdict, g.Message = Claimable, "vmid, kind and name are those of the manifest "+g.Manifest+", and no other guest has the marker"
}

// judgeUnnamed decides on a guest whose vmid no manifest names. It concerns this agent if a manifest without a vmid has its name, or if its
// vmid is in the Cluster's range and it is no copy of a guest with a record.
func (s *search) judgeUnnamed(g Guest) (Guest, bool) {
	if _, owned := s.Owned[g.VMID]; owned {
		return g, false // the plan reports it
	}
	for i := range s.Guests {
		if d := &s.Guests[i]; d.VMID == 0 && d.Kind == g.Kind && g.Name == d.NameInProxmox() {
			g.Manifest = d.Label()
			g.refuse(NoVMID, "the manifest "+g.Manifest+" has its name and names no vmid", fmt.Sprintf("if they are the same guest, set spec.vmid: %d", g.VMID))
			return g, true
		}
	}
	if !s.VMIDs.Has(g.VMID) || slices.ContainsFunc(s.markers[g.Marker], func(vmid int) bool { return s.Owned[vmid].Tag == g.Marker }) {
		return g, false
	}
	g.refuse(NoManifest, "no manifest names it", fmt.Sprintf("write a manifest with spec.vmid: %d and this kind and name, or remove the tag %s", g.VMID, g.Marker))
	return g, true
}

// otherWith returns the vmid of another guest, or of another record, with a marker; 0 if there is none.
func (s *search) otherWith(marker string, vmid int) int {
	for _, other := range s.markers[marker] {
		if other != vmid {
			return other
		}
	}
	return 0
}

func (g *Guest) refuse(v Verdict, message, hint string) {
	g.Verdict, g.Message, g.Hint = v, message, hint
}

// hidden returns the guests without a record whose vmid is in a manifest and that the token may not see.
func (s *search) hidden() []Guest {
	var list []Guest
	for vmid, absence := range s.Got.Absent {
		if _, owned := s.Owned[vmid]; owned || absence != cluster.Hidden {
			continue
		}
		s.index()
		if d, named := s.byVMID[vmid]; named {
			g := Guest{Kind: d.Kind, VMID: vmid, Manifest: d.Label()}
			g.refuse(Hidden, "the token may not see it", fmt.Sprintf("grant VM.Audit on /vms/%d", vmid))
			list = append(list, g)
		}
	}
	return list
}
