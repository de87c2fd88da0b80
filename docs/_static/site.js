// What scrolls sideways can be reached and scrolled by keyboard; what fits is no stop on the way.
function reach() {
  for (const box of document.querySelectorAll("pre, .table-wrapper, .cell_output, figure.wide, div.math")) {
    if (box.scrollWidth > box.clientWidth) box.tabIndex = 0;
    else box.removeAttribute("tabindex");
  }
}
addEventListener("load", reach);
addEventListener("resize", reach);
