package observe

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"time"
)

// vmlistFile reads the list of guests from a file of Proxmox's cluster file system. That one is a process, and whoever reads from it
// while it hangs does not come back; so a reading that takes too long is left behind, and no other one begins before it ends.
type vmlistFile struct {
	path    string
	patient time.Duration // 0 is vmlistPatience
	late    chan vmlistText
	text    []byte // that list was parsed from
	list    vmlist
}

// vmlistText is what a reading found.
type vmlistText struct {
	text []byte
	err  error
}

const (
	maxVMList      = 8 << 20 // bytes; a guest has about 60
	vmlistPatience = time.Second
)

var errVMListHangs = errors.New("read list of guests: no answer in time")

// read returns the list as the file has it now. What has not changed is not parsed again.
func (f *vmlistFile) read() (vmlist, error) {
	text, err := f.readInTime()
	if err != nil {
		return vmlist{}, err
	}
	if f.text != nil && bytes.Equal(text, f.text) {
		return f.list, nil
	}
	list, err := parseVMList(text)
	if err != nil {
		return vmlist{}, err
	}
	f.text, f.list = text, list
	return list, nil
}

func (f *vmlistFile) readInTime() ([]byte, error) {
	if f.late == nil {
		done := make(chan vmlistText, 1)
		go func() {
			text, err := readBounded(f.path)
			done <- vmlistText{text, err}
		}()
		f.late = done
	} else {
		select {
		case <-f.late: // it is old by now
			f.late = nil
			return f.readInTime()
		default:
			return nil, errVMListHangs
		}
	}
	patience := time.NewTimer(cmp.Or(f.patient, vmlistPatience))
	defer patience.Stop()
	select {
	case got := <-f.late:
		f.late = nil
		return got.text, got.err
	case <-patience.C:
		return nil, errVMListHangs
	}
}

// readBounded reads a file that is not larger than a list of guests can be.
func readBounded(path string) ([]byte, error) {
	file, err := os.Open(path) //nolint:gosec // the path is the operator's own
	if err != nil {
		return nil, fmt.Errorf("read list of guests: %w", err)
	}
	defer func() { _ = file.Close() }()
	text, err := io.ReadAll(io.LimitReader(file, maxVMList+1))
	if err != nil {
		return nil, fmt.Errorf("read list of guests: %w", err)
	}
	if len(text) > maxVMList {
		return nil, fmt.Errorf("read list of guests: more than %d MiB", maxVMList>>20)
	}
	return text, nil
}
