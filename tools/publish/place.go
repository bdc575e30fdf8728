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
	Forge     string `json:"forge"`     // kind of the host, of forges
	Release   string `json:"release"`   // URL below which the files of the release are
	Image     string `json:"image"`     // container image, without a tag: that is Version
	Action    string `json:"action"`    // what a GitHub workflow says after "uses:"
	Contact   string `json:"contact"`   // where a vulnerability is reported
	Checksums string `json:"checksums"` // SHA-256 of the release's checksums.txt, in hex
}

// A forge is a kind of host. In its forms REPOSITORY is OWNER/schedlab.
type forge struct {
	release, image, action, contact string
}

var forges = map[string]forge{
	"github": {
		release: "https://HOST/REPOSITORY/releases/download/VERSION",
		image:   "ghcr.io/REPOSITORY",
		action:  "REPOSITORY/deploy/github@",
		contact: "https://HOST/REPOSITORY/security/advisories/new",
	},
	"gitlab": {
		release: "https://HOST/REPOSITORY/-/releases/VERSION/downloads",
		image:   "registry.HOST/REPOSITORY",
		action:  "https://HOST/REPOSITORY/deploy/github@",
		contact: "https://HOST/REPOSITORY/-/issues/new?issue[confidential]=true",
	},
	"gitea": { // Forgejo, too. It has no private reports.
		release: "https://HOST/REPOSITORY/releases/download/VERSION",
		image:   "HOST/REPOSITORY",
		action:  "https://HOST/REPOSITORY/deploy/github@",
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

// movedTo returns the place that is asked for by its Page and, if they are not empty, Version, Forge, Image and
// Contact. What is not asked for stays as it is, of another page as is usual on its host.
func (p Place) movedTo(asked Place) (Place, error) {
	to := Place{Module: asked.Page, Page: asked.Page, Version: cmp.Or(asked.Version, p.Version), Checksums: unbuilt}
	host, below, _ := strings.Cut(to.Page, "/")
	if err := module.CheckPath(to.Page); err != nil || !strings.Contains(host, ".") || !strings.HasSuffix(below, "/schedlab") {
		return to, usageError(fmt.Sprintf("%q is no place for a Go module that others can install; want HOST/OWNER/schedlab, such as github.com/OWNER/schedlab", to.Page))
	}
	if semver.Canonical(to.Version) != to.Version || semver.Major(to.Version) > "v1" {
		return to, usageError(fmt.Sprintf("--version %q is no version of this module; want v0.N.N or v1.N.N, such as v0.1.0", to.Version))
	}
	if to.Page == p.Page {
		if to.Version == p.Version { // that release may be built already
			to.Checksums = p.Checksums
		}
		asked.Forge, asked.Image, asked.Contact = cmp.Or(asked.Forge, p.Forge), cmp.Or(asked.Image, p.Image), cmp.Or(asked.Contact, p.Contact)
	}
	to.Forge = cmp.Or(asked.Forge, forgeOf(host))
	f, ok := forges[to.Forge]
	if !ok {
		return to, usageError(fmt.Sprintf("--forge %q is none of github, gitlab, gitea", to.Forge))
	}
	fill := strings.NewReplacer("HOST", host, "REPOSITORY", below, "VERSION", to.Version).Replace
	to.Release = fill(f.release)
	to.Action = fill(f.action) + semver.Major(to.Version)
	if to.Image = cmp.Or(asked.Image, strings.ToLower(fill(f.image))); to.Image == to.Page { // values could not tell them apart
		if asked.Image != "" {
			return to, usageError(fmt.Sprintf("--image %s is the place of the module, too; give the image another name, such as %s/cli", to.Image, to.Image))
		}
		to.Image += "/cli"
	}
	to.Contact = cmp.Or(asked.Contact, fill(f.contact))
	if to.Contact == "" {
		return to, usageError(fmt.Sprintf("%s has no page for private reports; give --contact, an address or a page for vulnerabilities", host))
	}
	return to, nil
}

// values returns what stands in files, in pairs of old and new. A value that begins with another is before it.
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
