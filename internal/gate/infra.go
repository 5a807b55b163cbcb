package gate

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"ralph-loop/internal/config"
	"ralph-loop/internal/diffstat"
	"ralph-loop/internal/git"
	"ralph-loop/internal/glob"
	"ralph-loop/internal/testinfra"
)

// infra holds a tree to the contract about its test infrastructure. The contract is the baseline's: the work under
// judgement neither makes one nor gets rid of it.

const infraVersion = 2

func (j *judge) infraKey() inputs {
	t := j.Config.TestInfra
	in := inputs{Layer: "infra", Version: infraVersion, Tree: j.Tree, Base: j.baseTree, Settings: []any{t.File, t.Exports, j.Config.Gate.TestGlobs, j.Config.Gate.IgnoreGlobs}}
	if j.Requirement != nil {
		in.Requirement = []any{j.Requirement.ID, j.Requirement.Allow}
	}
	return in
}

// contract is looked for once.
func (j *judge) contract(ctx context.Context) (*testinfra.Contract, error) {
	if j.looked {
		return j.agreed, nil
	}
	c, err := testinfra.Find(j.Config.TestInfra, testinfra.InGit(ctx, j.Repo, j.baseTree))
	if err != nil {
		return nil, fmt.Errorf("look for a contract about the test infrastructure: %w", err)
	}
	j.agreed, j.looked = c, true
	return c, nil
}

// classifierOf is the classifier with the contract that a baseline holds.
func classifierOf(ctx context.Context, repo *git.Repo, c *config.Config, base string) (*diffstat.Classifier, error) {
	contract, err := testinfra.Find(c.TestInfra, testinfra.InGit(ctx, repo, base))
	if err != nil {
		return nil, err
	}
	return classifier(c, contract), nil
}

// classifier tells tests from implementation by the configuration, and takes the test infrastructure for test code: with a
// contract in the baseline, wherever its helper may lie.
func classifier(c *config.Config, contract *testinfra.Contract) *diffstat.Classifier {
	d := &diffstat.Classifier{TestGlobs: c.Gate.TestGlobs, IgnoreGlobs: c.Gate.IgnoreGlobs}
	if contract != nil {
		d.TestFiles = contract.Places
	}
	return d
}

func (j *judge) infra(ctx context.Context) (Layer, error) {
	contract, err := j.contract(ctx)
	if err != nil {
		return Layer{}, err
	}
	if contract == nil {
		return Layer{Result: NotApplicable, Summary: "no contract about the test infrastructure"}, nil
	}
	tree := testinfra.InGit(ctx, j.Repo, j.Tree)
	helper, err := contract.Look(tree)
	if err != nil {
		return Layer{}, err
	}
	before, err := contract.Look(testinfra.InGit(ctx, j.Repo, j.baseTree))
	if err != nil {
		return Layer{}, err
	}
	if !helper.Complete() && j.Requirement == nil && !contract.Configured && !before.Complete() {
		// A person who never heard of the contract can go on as before.
		return Layer{Result: NotApplicable, Summary: "no test infrastructure yet: the loop has it made before its first requirement",
			Notes: []string{"package.json makes a helper file part of this project; 'test_infra: {file: none}' in ralph.yaml turns that off"}}, nil
	}
	l := Layer{Result: Pass, Summary: fmt.Sprintf("%s exports %s", git.Quote(helper.File), agreedNames(contract.Exports))}
	if helper.ByName {
		l.Notes = append(l.Notes, "no reader for this language: looked for declarations of these names, line by line")
	}
	place, err := contract.Place(helper, tree)
	if err != nil {
		return Layer{}, err
	}
	for _, m := range helper.Missing {
		l.Findings = append(l.Findings, Finding{Path: place, Rule: "not exported", Message: fmt.Sprintf("%s is %s (%s)", m.Name, m, m.Meaning)})
	}
	more, err := j.ownHelpers(ctx, contract, helper, before, place, &l)
	if err != nil {
		return Layer{}, err
	}
	if l.Findings = append(l.Findings, more...); len(l.Findings) > 0 {
		l.Result, l.Summary = Fail, plural(len(l.Findings), "finding")+" about the test infrastructure"
		l.Advice = fmt.Sprintf("%s exports %s, as functions of its own or re-exported, with a test for each; every other test imports them from there", git.Quote(place), agreedNames(contract.Exports))
	}
	return l, nil
}

func agreedNames(exports []config.Export) string {
	var list []string
	for _, e := range exports {
		list = append(list, e.Name)
	}
	return strings.Join(list, ", ")
}

// ownHelpers looks through the files that the change touches: for definitions of an agreed name beside the helper, and,
// where the change brings the helper, for a test of each name that is new.
func (j *judge) ownHelpers(ctx context.Context, contract *testinfra.Contract, helper, before *testinfra.Helper, place string, l *Layer) ([]Finding, error) {
	files, err := j.changedContents(ctx, func(f diffstat.File) bool {
		return isFile(f.NewMode) && f.Class != diffstat.Other && !slices.Contains(helper.Sources, f.Path)
	})
	if err != nil {
		return nil, err
	}
	tests := classifier(j.Config, contract)
	var found []Finding
	for _, e := range contract.Exports {
		tested := false
		for _, f := range files {
			class, _ := tests.ByName(f.Path)
			tested = tested || class == diffstat.Test && mentions(string(f.After), e.Name, wordByte)
			line := testinfra.Defines(f.Path, f.After, e.Name)
			if line == 0 || testinfra.Defines(f.Path, f.Before, e.Name) > 0 {
				continue
			}
			finding := Finding{Path: f.Path, Line: line, Rule: "defined elsewhere", Message: fmt.Sprintf("%s is defined here; import it from %s", e.Name, git.Quote(place))}
			if j.Requirement != nil && glob.Any(j.Requirement.Allow, f.Path) {
				l.Notes = append(l.Notes, finding.String()+" (allowed by the requirement)")
				continue
			}
			found = append(found, finding)
		}
		isNew := slices.ContainsFunc(before.Missing, func(m testinfra.Lack) bool { return m.Name == e.Name })
		if isNew && !tested && j.Requirement != nil && helper.Complete() {
			found = append(found, Finding{Path: helper.File, Rule: "not tested", Message: e.Name + " is new, and no test that the change brings uses it"})
		}
	}
	return found, nil
}
