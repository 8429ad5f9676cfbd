/** Texts that would do harm if any of them were taken for anything but a text. */
export const attacks: readonly string[] = [
  '<script>window.harmed=1;alert(1)</script>',
  '<img src=x onerror="window.harmed=1;alert(1)">',
  '<img src="https://elsewhere.example/pixel.png">',
  '<svg onload="window.harmed=1;alert(1)"></svg>',
  '<svg><script>window.harmed=1</script></svg>',
  '<iframe srcdoc="<script>parent.harmed=1</script>"></iframe>',
  '<iframe src="javascript:parent.harmed=1"></iframe>',
  '<a href="javascript:window.harmed=1">press</a>',
  '<body onload=window.harmed=1>',
  '<style>@import url("https://elsewhere.example/style.css");</style>',
  '<link rel=stylesheet href="https://elsewhere.example/style.css">',
  '<form action="https://elsewhere.example/"><button>press</button></form>',
  '<math><mi xlink:href="javascript:window.harmed=1">press</mi></math>',
  '<details open ontoggle="window.harmed=1">',
  '<input autofocus onfocus="window.harmed=1">',
  '<template><script>window.harmed=1</script></template>',
  '"><script>window.harmed=1</script>',
  "'-window.harmed=1-'",
  '</textarea><script>window.harmed=1</script>',
  '</title><script>window.harmed=1</script>',
  '<!--><script>window.harmed=1</script>-->',
  '{{constructor.constructor("window.harmed=1")()}}',
  '\u202e<script>window.harmed=1</script>',
  '<noscript><p title="</noscript><img src=x onerror=window.harmed=1>">',
];

/** … and what Markdown could make of them. */
export const markdownAttacks = `# Heading <script>window.harmed=1</script>

[press](javascript:window.harmed=1) [press](data:text/html,<script>window.harmed=1</script>)
[press](JaVaScRiPt:window.harmed=1) [press](java&#115;cript:window.harmed=1)
<javascript:window.harmed=1>
![pixel](https://elsewhere.example/pixel.png)
![pixel](x" onerror="window.harmed=1)
[ref]

[ref]: javascript:window.harmed=1 "title"

| <img src=x onerror=window.harmed=1> | b |
|---|---|
| <script>window.harmed=1</script> | c |

- <img src=x onerror=window.harmed=1>

<div onclick="window.harmed=1">

**bold**

</div>

${'`'.repeat(3)}html
<script>window.harmed=1</script>
${'`'.repeat(3)}
`;
