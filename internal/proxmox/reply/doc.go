// Package reply decodes replies of the API of Proxmox VE. It sends nothing and knows no request.
//
// A reply of status 200 is a JSON object with the field "data". Proxmox is written in Perl, so the same property is a number in one reply
// and a string in another one: a Scalar accepts both, as the text of the value, and an Integer accepts a whole number in both forms.
//
// Replies that a sweep over all guests reads thousands of times are decoded with a Cursor, which reads the text once and shares its memory.
// DecodePending does so for the configuration of a guest. The library decodes all other replies into types with Scalars.
//
// A reply that is truncated, lacks its data or repeats a key is an error, never an empty guest or a shorter list.
//
// Source: pve-http-server, APIServer/AnyEvent.pm for the format; PVE API, GET /nodes/{node}/{kind}/{vmid}/pending.
package reply
