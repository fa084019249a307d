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

// vmlistFile reads the list of guests from pmxcfs, Proxmox's cluster file system. pmxcfs is a process, and a read blocks while that process
// hangs. So a read that takes too long is abandoned, and no other read starts before it returns.
type vmlistFile struct {
	path    string
	timeout time.Duration   // 0 is vmlistTimeout
	late    chan vmlistText // the read that has not returned yet; nil if none
	text    []byte          // the text that list was parsed from
	list    vmlist
}

// vmlistText is the outcome of a read.
type vmlistText struct {
	text []byte
	err  error
}

const (
	maxVMList     = 8 << 20 // bytes; a guest takes about 60
	vmlistTimeout = time.Second
)

var errVMListHangs = errors.New("read list of guests: no reply in time")

// read returns the present list. It parses the text only if it changed.
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
		case <-f.late: // too old to be used
			f.late = nil
			return f.readInTime()
		default:
			return nil, errVMListHangs
		}
	}
	timer := time.NewTimer(cmp.Or(f.timeout, vmlistTimeout))
	defer timer.Stop()
	select {
	case got := <-f.late:
		f.late = nil
		return got.text, got.err
	case <-timer.C:
		return nil, errVMListHangs
	}
}

// readBounded reads a file of at most maxVMList bytes.
func readBounded(path string) ([]byte, error) {
	file, err := os.Open(path) //nolint:gosec // the operator configures the path
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
