package observe

import (
	"time"

	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/guest"
)

// Request is what one round of readings has to find out.
type Request struct {
	VMIDs   []int                         // the guests that matter, sorted
	Select  func(cluster.Inventory) []int // chooses VMIDs from the list once it has arrived, unless it is nil
	Further func(cluster.Inventory) []int // chooses more guests from the list; nil for none
	UnderHA []int                         // those of them whose manifests configure HA

	Firewalls map[int]bool // the guests whose firewalls matter, and whether that includes aliases and sets

	Files func(cluster.Inventory) []cluster.FilePlace // chooses from the list the places whose files matter; nil for none

	Objects map[guest.Kind][]string // the kinds whose objects matter, with their ids; a kind that is missing costs no call

	Snapshots map[int]bool // the guests whose snapshots an order needs

	Ready bool // also ask whether the cluster may be written to, not only if a node is offline
}

// Progress is what has arrived since the call before.
type Progress struct {
	Listed bool  // the list of guests arrived
	Err    error // why the list of guests could not be read; the round has then ended
	Ended  bool  // everything that the newest round asked for has arrived

	AskedReady bool  // it was asked whether the cluster may be written to
	ReadyErr   error // the answer, nil if it may be
}

// Part names a part of a round, for reports of late replies. It is a label of metrics.
type Part string

// The parts of a round.
const (
	PartList   Part = "list"   // the list of guests
	PartGuests Part = "guests" // the guests of a node
	PartHA     Part = "ha"     // the resources of the HA manager
	PartReady  Part = "ready"  // whether the cluster may be written to
	PartFiles  Part = "files"  // the files of Images

	PartDatacenter Part = "datacenter" // the datacenter's firewall
	PartObjects    Part = "objects"    // the objects of package kinds
)

// Pending is a call, or the calls to one node, without a reply.
type Pending struct {
	Part  Part
	Node  string    // of PartGuests
	Calls int       // guests without a reading; 1 for the other parts
	Since time.Time // when the oldest of them began
}

// arrival is the outcome of one call of a round.
type arrival struct {
	round *round
	part  Part
	began time.Time
	err   error // of the list, of HA and of ready

	inventory cluster.Inventory
	resources haResources
	master    *cluster.HAMaster // nil if no guest waits for the HA manager
	noMaster  error             // why it is not known whether the HA manager acts
	files     map[cluster.FilePlace]cluster.Files
	objects   map[guest.Kind]cluster.Objects
	reading   Reading

	firewallOn bool
}
