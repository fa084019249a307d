package pvesim

import "strings"

// firewallMacro is a macro, and the protocols of its rules in order.
type firewallMacro struct {
	name   string
	protos []string
}

// firewallMacros are the macros by protocols.
//
// Source: PVE::Firewall $pve_fw_macros.
var firewallMacros = func() []firewallMacro {
	var all []firewallMacro
	for _, l := range []string{
		`tcp Auth BGP CVS Ceph DCC Distcc FTP Finger Git HKP HTTP HTTPS ICQ IMAP IMAPS IRC Jetdirect LDAP LDAPS MSNP MSSQL Mail Munin MySQL NNTP
			NNTPS PMG POP3 POP3S PostgreSQL Printer RDP RNDC Rdate Rsync SANE SMBswat SMTP SMTPS SPAMD SPICEproxy SSH SVN Squid Submission Telnet
			Telnets Time VNC VNCL Web Webcache Webmin Whois`,
		`tcp,udp BitTorrent BitTorrent32 Citrix DAAP GNUnet`,
		`tcp,udp,41 SixXS`,
		`udp,tcp Amanda DNS PCA SMB SNMP Syslog`,
		`udp DHCPfwd DHCPv6 ICPV2 L2TP MDNS NTP OpenVPN RIP Razor TFTP`,
		`udp,50 IPsec IPsecnat`,
		`udp,51 IPsecah`,
		`udp,icmp Trcrt`,
		`icmp Ping`,
		`icmpv6 NeighborDiscovery`,
		`47 GRE`,
		`47,tcp PPtP`,
		`94 IPIP`,
		`89 OSPF`,
	} {
		words := strings.Fields(l)
		for _, name := range words[1:] {
			all = append(all, firewallMacro{name: name, protos: strings.Split(words[0], ",")})
		}
	}
	return all
}()

func findMacro(name string) (firewallMacro, bool) {
	for _, m := range firewallMacros {
		if strings.EqualFold(m.name, name) {
			return m, true
		}
	}
	return firewallMacro{}, false
}

func listMacros(*call) (reply, error) {
	var a array
	for _, m := range firewallMacros {
		var o object
		o.str("macro", m.name)
		o.str("descr", "")
		a.add(&o)
	}
	return dataReply(a.bytes())
}
