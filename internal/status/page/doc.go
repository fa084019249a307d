// Package page renders the pages for people. It turns a report into values in the words and the order of a page, and these into HTML. It serves nothing,
// and knows no request.
//
//   - page.go: Input, and a function for each page: Overview, Guest, Graph; frame.go: what surrounds their content
//   - overview.go, guest_page.go, graph.go: what each page prints, as values; the templates are overview.html, guest.html, graph.html and parts.html
//   - view.go: the parts of the agent; guest_view.go: one guest; notice.go: the messages above the table
//   - runbook.go: what a person does about what the page shows
//   - links.go: addresses of guests, of commits at the forge and of guests in Proxmox; badge.go, time_view.go: words with colours, and times
//   - the style sheet and the script are files of their own; every page works without the script
//
// A page loads nothing from other hosts. Text from the repository, the cluster and signers reaches it only through html/template, which escapes it.
package page
