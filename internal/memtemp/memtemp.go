// Package memtemp puts the temporary folders of a test binary into memory. A test binary imports it for this effect alone.
//
// Tests make many thousands of small files that end with them: stores of git, journals, worlds of scripts. On a disk they need twice the time. The folders stay
// on the disk if TMPDIR is set, and where /dev/shm is absent, small, or mounted without the right to execute the programs of tests.
package memtemp
