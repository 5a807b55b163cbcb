package learn

import (
	"fmt"
	"strings"

	"ralph-loop/internal/lazyregexp"
)

// Kinds of what is permanent at once.
const (
	Architecture = "architecture"
	Convention   = "convention"
	Interface    = "interface"
	Data         = "data"
	Security     = "security"
)

// Rules that made a learning permanent otherwise, beside the kinds above.
const (
	ByUser      = "user"     // marked so by a person
	ByPromotion = "promoted" // reported by several requirements
	ByPage      = "page"     // found in AGENTS.md, where an earlier run or another clone kept it
)

// Finding is the kind of what a review found: it is contextual whatever it says, until a second requirement meets it too.
const Finding = "finding"

// A text is permanent at once when it begins with a kind's name and a colon and goes on, or when it names the matter of a
// kind and states something of it as a rule or a fact. What speaks of one place, one requirement or one mishap is not,
// whatever else it says. The patterns are kept simple on purpose: 'ralph-learn why' names the words that decided, and
// 'ralph-learn promote' corrects.
type rule struct {
	kind   string
	what   string             // for people
	names  *lazyregexp.Regexp // how a label or a reporter calls it
	matter *lazyregexp.Regexp // what it speaks of
	states *lazyregexp.Regexp // how: a rule, or a lasting fact
}

var (
	oneRequirement = lazyregexp.New(`(?i)\b(REQ|US|AC)[- _]?[0-9]+|本需求|该需求|这个需求|\bthis requirement\b`)
	onePlace       = lazyregexp.New(`(?i)第\s*[0-9一二三四五六七八九十百]+\s*行|\blines?\s+[0-9]+|\bL[0-9]+\b|\.[a-z]{1,4}:[0-9]+`)
	oneMishap      = lazyregexp.New(`(?i)\boff[- ]by[- ]one\b|\bbugs?\b|\btypos?\b|\bflaky\b|\bfail(s|ed|ing)?\b|\bbroke(n)?\b|\bcrash(es|ed)?\b|\bpanic(s|ked)?\b|\b(was|were) (missing|wrong|red)\b|\bforgot\b|有个|报错|失败|修复了|忘记|笔误|崩溃`)

	// The name of something in the code is no mishap: API.fail, fail().
	identifiers = lazyregexp.New("`[^`]*`|\\w+(\\.\\w+)+|\\w+\\(")
	label       = lazyregexp.New(`^[\s*_\[【「(（]*([\p{L} _-]{2,40}?)[\s*_\]】」)）]*[:：][\s*_]*`)
	says        = lazyregexp.New(`[\p{L}\p{N}]\S*\s+\S+\s+\S|\p{Han}{4}|\p{Han}\s*[^\p{Han}\s]+\s*\p{Han}`)
	saysNothing = lazyregexp.New(`(?i)^(no|nothing)( \w+)? (changes?|impact|issues?|findings?|concerns?|risks?|problems?|decisions?)\b|^(无|没有|未|不涉及|不适用)`)

	normative = `(?i)\b(must|never|always|should|shall|use|uses|do not|don't|only|require[sd]?|forbid(s|den)?|avoid|instead of|not allowed|may not|mandatory)\b|必须|不要|不得|不能|不可|禁止|一律|统一|应该|应当|应|使用|采用|只能|只允许|避免|需要|遵循`
	factual   = `(?i)\b(is|are|has|have|contains?|holds?|consists?|stored?|stores|returns?|takes?|accepts?|throws?|exports?|unique|optional|nullable|expects?|maps?)\b|包含|返回|接受|抛出|为|是|唯一|存储|存放|导出|可选|必填|由.+组成`

	rules = []rule{
		{Security, "a security rule",
			lazyregexp.New(`^(security|security (rule|note|requirement)|安全|安全(规则|规范|要求|约束|约定))s?$`),
			lazyregexp.New(`(?i)\b(bcrypt|scrypt|argon2(id)?|pbkdf2|md5|sha-?1|passwords?|secrets?|credentials?|api keys?|private keys?|xss|csrf|cors|ssrf|sql injection|injection|sanitis|sanitiz|escap(e|es|ed|ing)|encrypt\w*|decrypt\w*|tls|https|auth(n|z|entication|orisation|orization)?|permissions?|access control|jwt|session tokens?|rate limit\w*|security|path traversal|constant[- ]time)\b|密码|加密|解密|密钥|口令|注入|鉴权|认证|授权|权限|安全|脱敏|明文|转义|令牌|越权`),
			lazyregexp.New(normative)},
		{Architecture, "an architecture decision",
			lazyregexp.New(`^(architecture|(architecture|architectural|design) (decision|rule)|架构|架构(决策|决定|设计|规则|约束)|设计(决策|决定)|技术选型)s?$`),
			lazyregexp.New(`(?i)\b(architectur\w+|design decision|decided (to|on|for|against)|adr|layer(s|ed|ing)?|hexagonal|monolith\w*|micro-?services?|dependency direction|ports and adapters|event sourcing|cqrs|mvc)\b|架构|设计决策|设计决定|技术选型|决定(使用|采用|用)|分层|微服务|单体|依赖方向`),
			lazyregexp.New(normative + "|" + strings.TrimPrefix(factual, "(?i)") + `|(?i:\bdecided\b)|决定|选型`)},
		{Convention, "a global convention",
			lazyregexp.New(`^((global |project |code |coding |naming |team )?convention|code style|(全局|项目|代码|编码|命名|团队)?(约定|规范))s?$`),
			lazyregexp.New(`(?i)\b(projects?|project-wide|repositor(y|ies)|code ?base|everywhere|convention\w*|code style|style guide|(all|every|each) (new )?(files?|modules?|packages?|handlers?|tests?|functions?|endpoints?|components?|routes?|errors?|commits?|migrations?|tables?|api\w*))\b|项目|全局|所有|全部|约定|规范|整个代码库|代码库|团队|每个(文件|模块|接口|测试|组件|函数)`),
			lazyregexp.New(normative)},
		{Interface, "a module interface",
			lazyregexp.New(`^((module |public )?interface|(module|public|api) (api|contract|interface)|(模块|公共|公开)?接口|接口(契约|约定|定义)|(模块|函数)签名)s?$`),
			lazyregexp.New(`(?i)\b(interfaces?|signatures?|public api|api contract|contract|endpoints?|(get|post|put|patch|delete) /\S*)\b|[A-Za-z_][\w.]*\([^)]*\)|(GET|POST|PUT|PATCH|DELETE) /\S*|接口|函数签名|方法签名|契约`),
			lazyregexp.New(factual + `|->|→|=>|(?i:\b(must|never|always|only|requires?)\b)|必须|不得|只能`)},
		{Data, "a data structure",
			lazyregexp.New(`^(data (structure|model|schema|format)|数据(结构|模型|格式)|表结构)s?$`),
			lazyregexp.New(`(?i)\b(schemas?|data (model|structure)s?|tables?|columns?|fields?|primary keys?|foreign keys?|enums?|structs?|json (shape|format|object)|models?|file format|index on)\b|数据结构|数据模型|表结构|字段|主键|外键|枚举|索引|表`),
			lazyregexp.New(factual + `|(?i:\b(must|never|always|only|requires?)\b)|必须|不得|只能`)},
	}
)

// Class is what a learning is taken for, and why.
type Class struct {
	Permanent bool
	Rule      string   // the kind that made it permanent, or ""
	Words     []string // the words of the text that decided
}

// Classify tells whether a text is permanent at once. kind is what the reporter proposed; it may be "". A proposal
// that names a kind spares the text the form of a rule, not its matter: it is a proposal only.
func Classify(text, kind string) Class {
	if kind == Finding {
		return Class{}
	}
	prose := identifiers.ReplaceAllString(text, " ")
	for _, bound := range []struct {
		pattern *lazyregexp.Regexp
		text    string
	}{{oneRequirement, text}, {onePlace, text}, {oneMishap, prose}} {
		if words := found(bound.pattern, bound.text, 3); len(words) > 0 {
			return Class{Words: words}
		}
	}
	labelled, words := labelOf(text)
	for _, r := range rules {
		if r.kind == labelled {
			return Class{Permanent: true, Rule: r.kind, Words: words}
		}
		// Security rules are always told, so what is one is one under any name; of the others the text's own word counts.
		if labelled != "" && r.kind != Security {
			continue
		}
		matter := found(r.matter, text, 3)
		if len(matter) == 0 {
			continue
		}
		if states := found(r.states, text, 2); len(states) > 0 || proposes(kind, r) {
			return Class{Permanent: true, Rule: r.kind, Words: append(matter, states...)}
		}
	}
	return Class{}
}

// labelOf is the kind that a text names before its first colon, and that word; "" where it names none, or goes on to say
// nothing.
func labelOf(text string) (kind string, words []string) {
	m := label.FindStringSubmatch(text)
	if m == nil {
		return "", nil
	}
	rest := text[len(m[0]):]
	if !says.MatchString(rest) || saysNothing.MatchString(rest) {
		return "", nil
	}
	for _, r := range rules {
		if r.names.MatchString(plainName(m[1])) {
			return r.kind, []string{m[1] + ":"}
		}
	}
	return "", nil
}

// proposes reports whether a reporter's word for a kind means that of the rule.
func proposes(proposal string, r rule) bool {
	name := plainName(proposal)
	// These stand before anything, so they are no labels.
	short := map[string]string{"decision": Architecture, "api": Interface, "schema": Data, "data": Data}
	return short[name] == r.kind || r.names.MatchString(name)
}

func plainName(s string) string {
	return strings.ToLower(strings.TrimSpace(strings.NewReplacer("_", " ", "-", " ").Replace(s)))
}

// why says in one sentence what class a text is of by its own words.
func (c Class) why() string {
	quoted := make([]string, len(c.Words))
	for i, w := range c.Words {
		quoted[i] = fmt.Sprintf("%q", w)
	}
	list := strings.Join(quoted, ", ")
	switch {
	case c.Permanent:
		for _, r := range rules {
			if r.kind == c.Rule {
				return "it states " + r.what + " (" + list + ")"
			}
		}
	case list != "":
		return "it speaks of one requirement, one place or one mishap (" + list + ")"
	}
	return "it states no architecture decision, global convention, module interface, data structure or security rule"
}
