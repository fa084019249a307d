package guest

import "fmt"

// Larger is a volume that is larger than its manifest asks for. It is no difference, since the size in a manifest is a minimum and no volume shrinks.
type Larger struct {
	Key          string
	Wanted, Size string // "8G", and the larger size that the volume has
	Origin       Origin
}

// String returns the words for people: "a disk never shrinks: the live size is 20G; write it".
func (l Larger) String() string {
	return fmt.Sprintf("a disk never shrinks: the live size is %s; write it", l.Size)
}

// LargerVolumes returns the volumes of a live guest that are larger than its manifest asks for, sorted by key. What its storage rounds up does not count.
func LargerVolumes(d Desired, o Observed) []Larger {
	c := comparison{want: &d, live: &o}
	c.run()
	return c.larger
}

// LargerInClone returns the volumes that are larger than the manifest of a new guest asks for, because those of its template, or in its backup, are. Template is the reading of the
// guest that is cloned, or has the keys in the backup.
func LargerInClone(d Desired, template Observed) []Larger {
	return LargerVolumes(d, cloned(&d, &template))
}
