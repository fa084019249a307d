// Package configtext parses and formats the config files of guests in the text form that Proxmox VE stores.
//
// A file has a description in comment lines, keys with values, and sections: the pending changes of the guest, the values in the cloud-init
// image that are no longer current, and one section per snapshot. Parse reads a file into a Config, and Config.Format writes it with sorted
// keys. A file that is parsed, formatted and parsed again has the same text. This package does not check the values of keys.
//
// Main types: Config, its Values and Snapshots, and Kind, because VMs and containers differ in the name of the pending section and in
// the end of a description. Start with Parse in format.go.
package configtext
