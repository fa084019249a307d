package observe

import "sync"

// VMListVersions returns a function that reads the version of every guest's configuration, by vmid, from the vmlist file at path. It returns nil for
// an empty path. The function is safe for concurrent use. A version that changed proves a change; one that stayed the same proves nothing, since
// the file may be out of date.
func VMListVersions(path string) func() (map[int]uint64, error) {
	if path == "" {
		return nil
	}
	var mu sync.Mutex
	file := vmlistFile{path: path}
	return func() (map[int]uint64, error) {
		mu.Lock()
		defer mu.Unlock()
		list, err := file.read()
		if err != nil {
			return nil, err
		}
		versions := make(map[int]uint64, len(list.guests))
		for vmid, entry := range list.guests {
			versions[vmid] = entry.version
		}
		return versions, nil
	}
}
