package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/mod/module"
	"golang.org/x/mod/semver"
)

// unbuilt stands for the checksum of a release that is not built yet. The templates refuse it.
var unbuilt = strings.Repeat("0", 64)

// A Place is where schedlab is hosted, and which release its CI templates install. deploy/place.json holds
// it. The files of the repository have each value as it is here.
type Place struct {
	Module    string `json:"module"`    // path of the Go module; "schedlab" until it is published, later Page
	Version   string `json:"version"`   // of the release, such as v0.1.0
	Page      string `json:"page"`      // HOST/OWNER/schedlab
	Release   string `json:"release"`   // URL below which the files of the release are
	Image     string `json:"image"`     // container image, without a tag: that is Version
	Action    string `json:"action"`    // what a GitHub workflow says after "uses:"
	Contact   string `json:"contact"`   // where a vulnerability is reported
	Checksums string `json:"checksums"` // SHA-256 of the release's checksums.txt, in hex
}

// A forge is a kind of host. %[1]s is HOST, %[2]s OWNER/schedlab, and %[3]s the version.
type forge struct {
	release, image, action, contact string
}

var forges = map[string]forge{
	"github": {
		release: "https://%[1]s/%[2]s/releases/download/%[3]s",
		image:   "ghcr.io/%[2]s",
		action:  "%[2]s/deploy/github@",
		contact: "https://%[1]s/%[2]s/security/advisories/new",
	},
	"gitlab": {
		release: "https://%[1]s/%[2]s/-/releases/%[3]s/downloads",
		image:   "registry.%[1]s/%[2]s",
		action:  "https://%[1]s/%[2]s/deploy/github@",
		contact: "https://%[1]s/%[2]s/-/issues/new?issue[confidential]=true",
	},
	"gitea": { // Forgejo, too. It has no private reports.
		release: "https://%[1]s/%[2]s/releases/download/%[3]s",
		image:   "%[1]s/%[2]s",
		action:  "https://%[1]s/%[2]s/deploy/github@",
	},
}

// forgeOf returns the kind of a host as its name tells it.
func forgeOf(host string) string {
	switch {
	case host == "github.com":
		return "github"
	case strings.HasPrefix(host, "gitlab."):
		return "gitlab"
	}
	return "gitea"
}

// placeAt returns the place HOST/OWNER/schedlab. What the arguments after version leave empty is as usual
// on such a host.
func placeAt(page, version, kind, image, contact string) (Place, error) {
	host, below, _ := strings.Cut(page, "/")
	if err := module.CheckPath(page); err != nil || !strings.Contains(host, ".") || !strings.HasSuffix(below, "/schedlab") {
		return Place{}, usageError(fmt.Sprintf("%q is no place for a Go module that others can install; want HOST/OWNER/schedlab, such as github.com/OWNER/schedlab", page))
	}
	if semver.Canonical(version) != version || semver.Build(version) != "" || semver.Major(version) > "v1" {
		return Place{}, usageError(fmt.Sprintf("--version %q is no version of this module; want v0.N.N or v1.N.N, such as v0.1.0", version))
	}
	kind = cmp.Or(kind, forgeOf(host))
	f, ok := forges[kind]
	if !ok {
		return Place{}, usageError(fmt.Sprintf("--forge %q is none of github, gitlab, gitea", kind))
	}
	fill := func(form string) string {
		return strings.NewReplacer("%[1]s", host, "%[2]s", below, "%[3]s", version).Replace(form)
	}
	p := Place{
		Module:    page,
		Version:   version,
		Page:      page,
		Release:   fill(f.release),
		Image:     cmp.Or(image, strings.ToLower(fill(f.image))),
		Action:    fill(f.action) + semver.Major(version),
		Contact:   cmp.Or(contact, fill(f.contact)),
		Checksums: unbuilt,
	}
	if p.Contact == "" {
		return Place{}, usageError(fmt.Sprintf("%s has no page for private reports; give --contact, an address or a page for vulnerabilities", host))
	}
	return p, nil
}

// values returns what stands in files, in pairs of old and new, the longest old value first: a value may
// contain another.
func (p Place) values(to Place) []string {
	return []string{
		p.Contact, to.Contact,
		p.Release, to.Release,
		p.Action, to.Action,
		p.Checksums, to.Checksums,
		p.Image + ":" + p.Version, to.Image + ":" + to.Version,
		p.Image, to.Image,
		p.Page, to.Page,
	}
}

// placeFile is where the present place is kept.
const placeFile = "deploy/place.json"

// readPlace reads the place that a repository has.
func readPlace(root string) (p Place, err error) {
	text, err := os.ReadFile(filepath.Join(root, placeFile))
	if err == nil {
		err = json.Unmarshal(text, &p)
	}
	if err != nil {
		return p, fmt.Errorf("reading the place: %w", err)
	}
	return p, nil
}

// write writes the place into a repository.
func (p Place) write(root string) error {
	text, err := json.MarshalIndent(p, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(root, placeFile), append(text, '\n'), 0o644)
}
