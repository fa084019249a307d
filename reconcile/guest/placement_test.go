package guest

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// placed is a guest as it may be wanted and found beyond its configuration keys.
type placed struct {
	wants func(*Desired)
	live  Observed
	want  []string // "key from -> to: brief"
}

func runPlaced(t *testing.T, tests map[string]placed) {
	t.Helper()
	for _, name := range slices.Sorted(maps.Keys(tests)) {
		test := tests[name]
		t.Run(name, func(t *testing.T) {
			d := want(test.live)
			if test.wants != nil {
				test.wants(&d)
			}
			var got []string
			for _, c := range Diff(d, test.live) {
				got = append(got, fmt.Sprintf("%s -> %s: %s", c.From, c.To, brief(c)))
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("changes (-want +got):\n%s", diff)
			}
		})
	}
}

func onPVE2(o Observed) Observed {
	o.Node = "pve2"
	return o
}

func moving(migrate Migration, nodes ...string) func(*Desired) {
	return func(d *Desired) { d.Migrate, d.Nodes, d.Node = migrate, nodes, nodes[0] }
}

func TestDiffNode(t *testing.T) {
	const stoppedNote = "moves while it is stopped, local disks are copied"
	template := onPVE2(live(nil))
	template.Template, template.Status = true, StatusUnknown
	inHA := onPVE2(running(nil))
	inHA.HA, inHA.Resource = true, &HA{State: "started", MaxRestart: 1, MaxRelocate: 1}
	runPlaced(t, map[string]placed{
		"unmanaged":          {nil, onPVE2(live(nil)), nil},
		"by_default_stays":   {moving("", "pve1"), onPVE2(live(nil)), nil},
		"denied":             {moving(MigrateDeny, "pve1"), onPVE2(live(nil)), nil},
		"moved_by_ha_stays":  {moving(MigrateDeny, "pve1"), inHA, nil},
		"ha_follows_allowed": {moving(MigrateOnline, "pve1"), inHA, []string{"pve2 -> pve1: node migrate pve1 [live] moves while it runs, local disks are copied"}},
		"is_where_it_should": {moving(MigrateOnline, "pve1", "pve2"), onPVE2(live(nil)), nil},
		"node_not_known":     {moving(MigrateOnline, "pve1"), live(nil), nil},
		"ignored":            {func(d *Desired) { moving(MigrateOnline, "pve1")(d); d.Ignore = []string{"node"} }, onPVE2(live(nil)), nil},
		"no_node_wanted":     {func(d *Desired) { d.Migrate = MigrateOnline }, onPVE2(live(nil)), nil},
		"list_alone":         {func(d *Desired) { d.Migrate, d.Nodes = MigrateOffline, []string{"pve3", "pve1"} }, onPVE2(live(nil)), []string{"pve2 -> pve3: node migrate pve3 [live] " + stoppedNote}},
		"stopped":            {moving(MigrateOffline, "pve1"), onPVE2(live(nil)), []string{"pve2 -> pve1: node migrate pve1 [live] " + stoppedNote}},
		"template":           {moving(MigrateOffline, "pve1"), template, []string{"pve2 -> pve1: node migrate pve1 [live] " + stoppedNote}},
		"offline_but_runs":   {moving(MigrateOffline, "pve1"), onPVE2(running(nil)), []string{"pve2 -> pve1: node none [impossible] it runs, and migrate: offline moves it only while it is stopped"}},
		"online":             {moving(MigrateOnline, "pve1"), onPVE2(running(nil)), []string{"pve2 -> pve1: node migrate pve1 [live] moves while it runs, local disks are copied"}},
		"container_online":   {moving(MigrateOnline, "pve1"), onPVE2(container(running(nil))), []string{"pve2 -> pve1: node migrate pve1 [disruptive] the container restarts on the other node"}},
		"container_stopped":  {moving(MigrateOnline, "pve1"), onPVE2(container(live(nil))), []string{"pve2 -> pve1: node migrate pve1 [live] " + stoppedNote}},
	})
}

func TestDiffNodeOfGuestWithHostDevice(t *testing.T) {
	tests := map[string]struct {
		kind             Kind
		key, text        string
		running, stopped bool // it cannot be moved
	}{
		"usb_of_host":     {VirtualMachine, "usb0", "host=1-1", true, true},
		"usb_mapping":     {VirtualMachine, "usb0", "mapping=zigbee", true, false},
		"usb_spice":       {VirtualMachine, "usb0", "spice", false, false},
		"pci_of_host":     {VirtualMachine, "hostpci0", "0000:00:02.0", true, true},
		"pci_mapping":     {VirtualMachine, "hostpci0", "mapping=gpu", false, false},
		"serial_of_host":  {VirtualMachine, "serial0", "/dev/ttyS0", true, true},
		"serial_socket":   {VirtualMachine, "serial0", "socket", false, false},
		"parallel":        {VirtualMachine, "parallel0", "/dev/parport0", true, true},
		"shared_folder":   {VirtualMachine, "virtiofs0", "share", true, false},
		"bind_mount":      {Container, "mp0", "/srv,mp=/srv", true, true},
		"bind_mount_same": {Container, "mp0", "/srv,mp=/srv,shared=1", false, false},
		"mount_of_volume": {Container, "mp0", "local:201/vm-201-disk-0.raw,mp=/srv", false, false},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			for status, bound := range map[Status]bool{StatusRunning: test.running, StatusStopped: test.stopped} {
				o := onPVE2(live(keys{test.key: test.text}))
				o.Kind, o.Status = test.kind, status
				d := want(o)
				moving(MigrateOnline, "pve1")(&d)
				got := Diff(d, o)
				if len(got) != 1 || (got[0].Class == Impossible) != bound {
					t.Errorf("%s: got %v, want it bound to its node: %t", status, briefs(got), bound)
				}
			}
		})
	}
}

func TestDiffPool(t *testing.T) {
	const note = "backup jobs and permissions may depend on the pool"
	prod := live(nil)
	prod.Pool = "prod"
	in := func(pool string) func(*Desired) { return func(d *Desired) { d.Pool = pool } }
	runPlaced(t, map[string]placed{
		"unmanaged": {nil, prod, nil},
		"holds":     {in("prod"), prod, nil},
		"joins":     {in("prod"), live(nil), []string{" -> prod: pool pool prod [live] " + note}},
		"changes":   {in("test"), prod, []string{"prod -> test: pool pool test [live] " + note}},
		"ignored":   {func(d *Desired) { d.Pool, d.Ignore = "test", []string{"pool"} }, prod, nil},
	})
}

func TestDiffTemplate(t *testing.T) {
	made := live(nil)
	made.Template, made.Status = true, StatusUnknown
	template := func(d *Desired) { d.Template = true }
	runPlaced(t, map[string]placed{
		"holds":         {template, made, nil},
		"never_undone":  {nil, made, nil},
		"stopped":       {template, live(nil), []string{"0 -> 1: template template 1 [disruptive] becomes a template, which cannot be undone"}},
		"runs":          {template, running(nil), []string{"0 -> 1: template none [impossible] it runs: stop it to convert it to a template"}},
		"has_snapshots": {template, live(keys{"parent": "before"}), []string{"0 -> 1: template none [impossible] it has snapshots: a template cannot have any"}},
		"ignored":       {func(d *Desired) { d.Template, d.Ignore = true, []string{"template"} }, live(nil), nil},
	})
}

func TestDiffHA(t *testing.T) {
	resource := func(state string, restart, relocate int, o Observed) Observed {
		o.HA, o.Resource = true, &HA{State: state, MaxRestart: restart, MaxRelocate: relocate}
		return o
	}
	unread := running(nil)
	unread.HA = true
	wishes := func(w HAWanted) func(*Desired) { return func(d *Desired) { d.HA = &w } }
	three := 3
	without, old := resource("started", 1, 1, running(nil)), resource("started", 1, 1, running(nil))
	without.Resource.NoFailback, old.Version = true, Version{8, 4}
	runPlaced(t, map[string]placed{
		"unmanaged":       {nil, resource("started", 1, 1, running(nil)), nil},
		"absent_holds":    {wishes(HAWanted{Absent: true}), running(nil), nil},
		"holds":           {wishes(HAWanted{State: "started"}), resource("started", 2, 2, running(nil)), nil},
		"nobody_asked":    {wishes(HAWanted{State: "stopped"}), unread, nil},
		"nobody_asked_no": {wishes(HAWanted{Absent: true}), unread, nil},
		"ignored":         {func(d *Desired) { d.HA, d.Ignore = &HAWanted{Absent: true}, []string{"ha"} }, resource("started", 1, 1, running(nil)), nil},
		"ignored_field":   {func(d *Desired) { d.HA, d.Ignore = &HAWanted{State: "started"}, []string{"ha.state"} }, resource("stopped", 1, 1, live(nil)), nil},
		"adds":            {wishes(HAWanted{MaxRestart: &three}), running(nil), []string{" -> started, restart 3, relocate 1: ha ha add [live] the HA manager manages the guest"}},
		"adds_and_starts": {wishes(HAWanted{State: "started"}), live(nil), []string{" -> started, restart 1, relocate 1: ha ha add [live] the HA manager starts the guest"}},
		"adds_and_stops":  {wishes(HAWanted{State: "stopped"}), running(nil), []string{" -> stopped, restart 1, relocate 1: ha ha add [disruptive] the HA manager shuts the guest down"}},
		"stops":           {wishes(HAWanted{State: "disabled"}), resource("started", 1, 1, running(nil)), []string{"started, restart 1, relocate 1 -> disabled, restart 1, relocate 1: ha ha set [disruptive] the HA manager shuts the guest down"}},
		"lets_go":         {wishes(HAWanted{State: "ignored"}), resource("started", 1, 1, running(nil)), []string{"started, restart 1, relocate 1 -> ignored, restart 1, relocate 1: ha ha set [disruptive] HA suspended: no failover to other nodes"}},
		"counts":          {wishes(HAWanted{MaxRelocate: &three}), resource("started", 1, 1, running(nil)), []string{"started, restart 1, relocate 1 -> started, restart 1, relocate 3: ha ha set [live]"}},
		"stays":           {wishes(HAWanted{Failback: new(bool)}), resource("started", 1, 1, running(nil)), []string{"started, restart 1, relocate 1 -> started, restart 1, relocate 1, no failback: ha ha set [live]"}},
		"stays_already":   {wishes(HAWanted{Failback: new(bool)}), without, nil},
		"stays_ignored":   {func(d *Desired) { d.HA, d.Ignore = &HAWanted{Failback: new(bool)}, []string{"ha.failback"} }, resource("started", 1, 1, running(nil)), nil},
		"old_release":     {wishes(HAWanted{Failback: new(bool)}), old, []string{"started, restart 1, relocate 1 -> started, restart 1, relocate 1, no failback: ha none [impossible] failback: the node runs Proxmox VE 8.4, but needs 9.0 or newer; leave it out"}},
		"removes":         {wishes(HAWanted{Absent: true}), resource("started", 1, 1, running(nil)), []string{"started, restart 1, relocate 1 -> : ha ha remove [disruptive] HA removed: no failover to other nodes"}},
	})
}

func TestHAParams(t *testing.T) {
	zero, two := 0, 2
	all := &HAWanted{State: "started", MaxRestart: &zero, MaxRelocate: &two, Failback: new(bool)}
	tests := map[string]struct {
		wish   *HAWanted
		verb   string
		ignore []string
		want   map[string]string
	}{
		"unmanaged":            {nil, HASet, nil, map[string]string{}},
		"nothing":              {&HAWanted{}, HAAdd, nil, map[string]string{}},
		"all":                  {all, HASet, nil, map[string]string{"state": "started", "max_restart": "0", "max_relocate": "2", "failback": "0"}},
		"set_leaves_out":       {all, HASet, []string{"ha.state", "ha.max_relocate", "ha.failback"}, map[string]string{"max_restart": "0"}},
		"set_leaves_out_count": {all, HASet, []string{"ha.max_restart"}, map[string]string{"state": "started", "max_relocate": "2", "failback": "0"}},
		"add_says_all":         {all, HAAdd, []string{"ha.state"}, map[string]string{"state": "started", "max_restart": "0", "max_relocate": "2", "failback": "0"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			d := Desired{HA: test.wish, Ignore: test.ignore}
			if diff := cmp.Diff(test.want, HAParams(d, test.verb)); diff != "" {
				t.Errorf("parameters (-want +got):\n%s", diff)
			}
		})
	}
}

func TestSecretChange(t *testing.T) {
	at := Origin{File: "web.yaml", Line: 7, Column: 3}
	secret := Secret{Key: "cipassword", File: "web", Origin: at}
	tests := map[string]struct {
		live   Observed
		ignore []string
		secret Secret
		want   Change
	}{
		"first": {live(nil), nil, secret, Change{Key: "cipassword", To: hidden, Class: Live, Write: WriteSecret, Value: "web", Origin: at}},
		"next_boot": {
			running(keys{"ide2": liveInit, "cipassword": hidden}), nil, secret,
			Change{Key: "cipassword", From: hidden, To: hidden, Class: Restart, Write: WriteSecret, Value: "web", Note: cloudInitNote, Origin: at},
		},
		"ignored":            {live(nil), []string{"cipassword"}, secret, Change{}},
		"used_once":          {container(live(nil)), nil, Secret{Key: "password", File: "web"}, Change{}},
		"pending_is_blanked": {running(keys{"cipassword": "? ********** "}), nil, secret, Change{Key: "cipassword", From: hidden, To: hidden, Class: Live, Write: WriteSecret, Value: "web", Origin: at}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			d := want(test.live)
			d.Ignore, d.Secrets = test.ignore, []Secret{test.secret}
			if diff := cmp.Diff(test.want, SecretChange(d, test.live, test.secret)); diff != "" {
				t.Errorf("change (-want +got):\n%s", diff)
			}
			if got := Diff(d, test.live); len(got) != 0 {
				t.Errorf("diff: got %v, want none: it cannot see a secret", briefs(got))
			}
		})
	}
}

func TestCreateSecrets(t *testing.T) {
	d := Desired{Ref: Ref{Kind: Container, Name: "dns-1"}, Secrets: []Secret{{Key: "password", File: "dns"}}}
	tests := map[string]struct {
		source Source
		want   map[string]string
	}{
		"template": {Source{Template: &Template{Volume: "local:vztmpl/x.tar.zst"}}, map[string]string{"password": "dns"}},
		"clone":    {Source{Clone: &Clone{VMID: 9000}}, nil},
		"backup":   {Source{Backup: &Backup{Volume: "local:backup/x"}}, nil},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			d.Source = test.source
			if diff := cmp.Diff(test.want, CreateSecrets(d)); diff != "" {
				t.Errorf("secrets (-want +got):\n%s", diff)
			}
		})
	}
}

func TestOnOtherNode(t *testing.T) {
	tests := map[string]struct {
		change func(*Desired)
		want   bool
	}{
		"no_node":      {func(*Desired) {}, false},
		"same_node":    {moving(MigrateDeny, "pve2"), false},
		"other_node":   {moving(MigrateDeny, "pve1"), true},
		"by_default":   {moving("", "pve1"), true},
		"may_be_there": {moving(MigrateDeny, "pve1", "pve2"), false},
		"is_moved":     {moving(MigrateOffline, "pve1"), false}, // then it is a change
		"is_ignored":   {func(d *Desired) { d.Node, d.Ignore = "pve1", []string{"node"} }, false},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := Desired{Ref: Ref{Kind: VirtualMachine, VMID: 201}}
			test.change(&d)
			if got := OnOtherNode(d, onPVE2(live(nil))); got != test.want {
				t.Errorf("got %t, want %t", got, test.want)
			}
		})
	}
}
