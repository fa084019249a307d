package pvesim

// FillStorage makes a storage full: calls that allocate or grow a volume on it fail with the error text of its type, and reads work. An
// unknown storage is ignored.
func (s *Sim) FillStorage(id string) {
	s.changeStorage(id, func(st *storage) { st.full = true })
}

// DrainStorage ends FillStorage.
func (s *Sim) DrainStorage(id string) {
	s.changeStorage(id, func(st *storage) { st.full = false })
}

func (s *Sim) changeStorage(id string, change func(*storage)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if st := s.storage(id); st != nil {
		change(st)
	}
}

// allocatedBytes returns the bytes that the volumes take when they are completely written.
func (st *storage) allocatedBytes() int64 {
	n := int64(0)
	for _, v := range st.volumes {
		n += v.stored()
	}
	return n
}

// checkSpace returns an error if size more bytes for a guest do not fit. A storage with Thick holds at most its size. On any other storage
// the volumes together may be larger than the storage, until FillStorage makes it full. The state is locked.
func (st *storage) checkSpace(vmid int, size int64) error {
	if !st.full && (!st.Thick || st.allocatedBytes()+size <= st.Size) {
		return nil
	}
	name := st.freeName(vmid, "raw")
	if st.Type == "dir" {
		return apiErrorf("unable to create image: qemu-img: %s: Could not resize file: No space left on device", st.path(name))
	}
	return apiErrorf("lvcreate 'pve/%s' error:   Cannot create new thin volume, free space in thin pool pve/data reached threshold.", name)
}
