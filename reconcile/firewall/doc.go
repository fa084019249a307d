// Package firewall compares the firewall of a guest with the one that its manifest wants, and finds the calls between them. It is pure.
//
// A call changes one thing: Proxmox has no transaction, and the guest is protected by every state in between. So each call is chosen such that a packet is
// admitted afterwards only if the firewall before admits it or the wanted one does. Calls follow each other from new readings, so a crash, an edit of
// somebody else or a lost reply between two of them changes nothing about that.
//
//   - Rules. A new rule is added without effect, moved to its place behind the wanted rules before it, and set in effect: the first rule first. Rules that
//     nothing wants are removed afterwards, the last one first. Between any two calls the rules decide about each packet as before or as wanted: a prefix
//     of the new rules is in effect in front of, or between, all old ones, or all new rules in front of a prefix of the old ones.
//   - Options change between the two. Those that drop packets before the rules are set first, and relaxed last. While the firewall is off, the rules come first; if it is
//     switched off, they come last.
//   - Aliases and sets change what rules mean. One set changes alone without more: entries are added before others are removed, in an order
//     in which no address is a member in between that is none before and after. For all other changes of names that rules in effect use, two rules drop new
//     connections meanwhile.
//
// Weaker compares two guarded firewalls instead, and WeakerAmong one guarded firewall among changed objects of the cluster: each says in what more packets may be
// admitted. A packet that a rule accepts was accepted before if a rule accepted it, and if all that was denied in front of that rule still is.
package firewall
