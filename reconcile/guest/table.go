package guest

import "strconv"

// table finds rows by key.
type table map[string]*row

// newTable indexes rows by key. A family has an entry for each of its keys.
func newTable(groups ...[]row) table {
	t := table{}
	for _, rows := range groups {
		for i := range rows {
			r := &rows[i]
			if r.slots == 0 {
				t[r.key] = r
			}
			for n := range r.slots {
				t[r.key+strconv.Itoa(n)] = r
			}
		}
	}
	return t
}

var (
	virtualMachineTable = newTable(vmRows, vmDeviceRows, vmDriveRows)
	containerTable      = newTable(ctRows, ctDeviceRows)
)

// unknownRow is used for keys that the table does not contain: they are compared as text, and are assumed to need a restart.
var unknownRow = row{effect: atStart}

// find returns the row of a key, or unknownRow and false.
func find(kind Kind, key string) (*row, bool) {
	t := virtualMachineTable
	if kind == Container {
		t = containerTable
	}
	if r, ok := t[key]; ok {
		return r, true
	}
	return &unknownRow, false
}
