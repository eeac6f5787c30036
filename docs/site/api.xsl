<?xml version="1.0"?>
<!-- One page of the API reference: Doxygen's XML of a public header as reStructuredText.

     Declarations stand in the order of the header. Those that share a comment are one entry. A public
     function, class or enumeration without a comment is a message, which ends scripts/docs. -->
<xsl:stylesheet version="1.0" xmlns:xsl="http://www.w3.org/1999/XSL/Transform" xmlns:exsl="http://exslt.org/common"
                xmlns:str="http://exslt.org/strings" extension-element-prefixes="exsl str" exclude-result-prefixes="exsl str">
  <xsl:output method="text" encoding="UTF-8"/>
  <xsl:param name="xml"/> <!-- the folder of the XML files -->
  <xsl:variable name="newline" select="'&#10;'"/>

  <xsl:template match="/"><xsl:apply-templates select="doxygen/compounddef"/></xsl:template>
  <xsl:template match="/doxygen/compounddef">
    <xsl:variable name="file" select="location/@file"/>
    <xsl:variable name="items"><xsl:call-template name="items"><xsl:with-param name="file" select="$file"/></xsl:call-template></xsl:variable>
    <xsl:variable name="title" select="concat('``&lt;', $file, '&gt;``')"/>
    <xsl:if test="exsl:node-set($items)/item">
      <xsl:value-of select="concat($title, $newline, str:padding(string-length($title), '='), $newline, $newline)"/>
      <xsl:apply-templates select="detaileddescription/*"><xsl:with-param name="indent" select="''"/></xsl:apply-templates>
      <!-- What is on the page. -->
      <xsl:value-of select="concat('.. rst-class:: contents-line', $newline, $newline)"/>
      <xsl:for-each select="exsl:node-set($items)/item[not(starts-with(@name, 'operator') or contains(@name, '&lt;') or @name = preceding-sibling::item/@name)]">
        <xsl:value-of select="concat(':cpp:any:`', @name, ' &lt;', @scope, '::', @name, '&gt;` ')"/>
      </xsl:for-each>
      <xsl:value-of select="concat($newline, $newline)"/>
      <xsl:apply-templates select="exsl:node-set($items)/item[not(@joins)]"><xsl:with-param name="indent" select="''"/></xsl:apply-templates>
    </xsl:if>
  </xsl:template>

  <!-- What a file or a class has, as a list of
         item: kind = directive, scope, signature, doc (its text, for comparison), joins if it shares the comment of the item before
       with the node of the description inside. -->
  <xsl:template name="items">
    <xsl:param name="file"/>
    <xsl:variable name="isFile" select="@kind = 'file'"/>
    <xsl:variable name="nested">
      <xsl:if test="$isFile">
        <xsl:for-each select="innerclass"><xsl:copy-of select="document(concat($xml, '/', @refid, '.xml'))//innerclass"/></xsl:for-each>
      </xsl:if>
    </xsl:variable>
    <xsl:variable name="all">
      <xsl:variable name="namespaces">
        <xsl:for-each select="innernamespace[not(contains(., 'detail') or contains(., 'impl'))]"><xsl:copy-of select="document(concat($xml, '/', @refid, '.xml'))//sectiondef"/></xsl:for-each>
      </xsl:variable>
      <xsl:if test="$isFile">
        <xsl:for-each select="document(concat($xml, '/index.xml'))//compound[@kind = 'concept' and not(contains(name, 'detail::') or contains(name, 'impl::'))]">
          <xsl:copy-of select="document(concat($xml, '/', @refid, '.xml'))//compounddef[location/@file = $file]"/>
        </xsl:for-each>
      </xsl:if>
      <xsl:for-each select="(sectiondef | exsl:node-set($namespaces)/sectiondef)/memberdef[@prot = 'public' and location/@file = $file]">
        <xsl:if test="not(contains(qualifiedname, 'detail::') or contains(qualifiedname, 'impl::') or contains(qualifiedname, 'detail.'))
                      and not(starts-with(name, '~')) and not(contains(argsstring, 'Loc loc)') and not(normalize-space(detaileddescription))) and not(starts-with(name, '@')) and @kind != 'define' and not(@kind = 'typedef' and type = concat('struct ', name))
                      and not(@kind = 'function' and starts-with(name, 'operator=') and string-length(name) = 9 and not(normalize-space(detaileddescription)))">
          <xsl:copy-of select="."/>
        </xsl:if>
      </xsl:for-each>
      <xsl:for-each select="innerclass[@prot = 'public']">
        <xsl:variable name="refid" select="@refid"/>
        <xsl:if test="not(exsl:node-set($nested)/innerclass[@refid = $refid]) and not(contains(., 'detail::') or contains(., 'impl::'))">
          <xsl:variable name="class" select="document(concat($xml, '/', @refid, '.xml'))/doxygen/compounddef"/>
          <xsl:variable name="name"><xsl:call-template name="lastName"><xsl:with-param name="name" select="string(.)"/></xsl:call-template></xsl:variable>
          <!-- A specialisation without a comment is plumbing. -->
          <xsl:if test="$class/location/@file = $file and (normalize-space($class/detaileddescription) or not(contains($name, '&lt;')))">
            <xsl:copy-of select="$class"/>
          </xsl:if>
        </xsl:if>
      </xsl:for-each>
    </xsl:variable>
    <xsl:variable name="listed">
      <xsl:for-each select="exsl:node-set($all)/*">
        <xsl:sort select="location/@line" data-type="number"/>
        <xsl:variable name="class" select="self::compounddef"/>
        <xsl:variable name="full" select="string(compoundname | qualifiedname)"/>
        <xsl:variable name="name"><xsl:call-template name="lastName"><xsl:with-param name="name" select="$full"/></xsl:call-template></xsl:variable>
        <item doc="{normalize-space(detaileddescription)}" name="{$name}">
          <xsl:attribute name="kind">
            <xsl:choose>
              <xsl:when test="@kind = 'concept'">concept</xsl:when>
              <xsl:when test="$class">class</xsl:when>
              <xsl:when test="@kind = 'variable'">member</xsl:when>
              <xsl:when test="@kind = 'typedef'">type</xsl:when>
              <xsl:when test="@kind = 'enum' and @strong = 'yes'">enum-class</xsl:when>
              <xsl:when test="@kind = 'enum'">enum</xsl:when>
              <xsl:when test="@kind = 'function' or @kind = 'friend'">function</xsl:when>
            </xsl:choose>
          </xsl:attribute>
          <xsl:attribute name="scope">
            <xsl:if test="string-length($full) &gt; string-length($name)"><xsl:value-of select="substring($full, 1, string-length($full) - string-length($name) - 2)"/></xsl:if>
          </xsl:attribute>
          <xsl:attribute name="signature">
            <xsl:variable name="text"><xsl:apply-templates select="." mode="signature"><xsl:with-param name="name" select="$name"/></xsl:apply-templates></xsl:variable>
            <xsl:value-of select="normalize-space($text)"/>
          </xsl:attribute>
          <xsl:if test="not(normalize-space(detaileddescription)) and ($class or @kind != 'variable') and @kind != 'typedef'
                        and $name != substring-before(concat(str:tokenize(substring($full, 1, string-length($full) - string-length($name) - 2), ':')[last()], '&lt;'), '&lt;')
                        and not(contains($full, 'ArgTraits')) and not(starts-with($name, 'operator')) ">
            <xsl:message><xsl:value-of select="concat($file, ': ', $full, ' has no comment')"/></xsl:message>
          </xsl:if>
          <xsl:copy-of select="."/>
        </item>
      </xsl:for-each>
    </xsl:variable>
    <xsl:for-each select="exsl:node-set($listed)/item">
      <xsl:copy>
        <xsl:copy-of select="@*"/>
        <xsl:variable name="before" select="preceding-sibling::item[1]"/>
        <xsl:if test="(@kind = 'function' or @kind = 'member' or @kind = 'type') and @doc != '' and $before/@doc = @doc and $before/@kind = @kind and $before/@scope = @scope">
          <xsl:attribute name="joins">yes</xsl:attribute>
        </xsl:if>
        <xsl:copy-of select="*"/>
      </xsl:copy>
    </xsl:for-each>
  </xsl:template>

  <!-- The last part of a qualified name, whose template arguments may have colons too. -->
  <xsl:template name="lastName">
    <xsl:param name="name"/>
    <xsl:variable name="outer" select="substring-before(concat($name, '&lt;'), '&lt;')"/>
    <xsl:choose>
      <xsl:when test="contains($name, 'operator')"><xsl:value-of select="concat('operator', substring-after($name, 'operator'))"/></xsl:when>
      <xsl:when test="contains($name, '&gt;::')"><xsl:call-template name="lastName"><xsl:with-param name="name" select="substring-after($name, '&gt;::')"/></xsl:call-template></xsl:when>
      <xsl:when test="contains($outer, '::')"><xsl:call-template name="lastName"><xsl:with-param name="name" select="substring-after($name, '::')"/></xsl:call-template></xsl:when>
      <xsl:otherwise><xsl:value-of select="$name"/></xsl:otherwise>
    </xsl:choose>
  </xsl:template>

  <!-- Signatures, as Sphinx reads them. -->
  <xsl:template match="templateparamlist" mode="signature">
    <xsl:text>template &lt;</xsl:text>
    <xsl:for-each select="param">
      <xsl:if test="position() &gt; 1">, </xsl:if>
      <xsl:value-of select="type"/>
      <xsl:if test="declname"><xsl:value-of select="concat(' ', declname)"/></xsl:if>
      <xsl:if test="defval"><xsl:value-of select="concat(' = ', defval)"/></xsl:if>
    </xsl:for-each>
    <xsl:text>&gt; </xsl:text>
  </xsl:template>
  <xsl:template match="compounddef" mode="signature">
    <xsl:param name="name"/>
    <xsl:apply-templates select="templateparamlist" mode="signature"/>
    <xsl:value-of select="$name"/>
    <xsl:variable name="bases" select="basecompoundref[not(contains(., 'detail::') or contains(., 'impl::'))]"/>
    <xsl:for-each select="$bases">
      <xsl:value-of select="concat(substring(' : , ', 3 * (position() &gt; 1), 3), 'public ', .)"/>
    </xsl:for-each>
  </xsl:template>
  <xsl:template match="memberdef[@kind = 'enum']" mode="signature"><xsl:value-of select="name"/></xsl:template>
  <xsl:template match="memberdef[@kind = 'typedef']" mode="signature">
    <xsl:apply-templates select="templateparamlist" mode="signature"/>
    <xsl:value-of select="concat(name, ' = ', type, argsstring)"/>
  </xsl:template>
  <xsl:template match="memberdef[@kind = 'variable']" mode="signature">
    <xsl:apply-templates select="templateparamlist" mode="signature"/>
    <xsl:if test="@static = 'yes'">static </xsl:if>
    <xsl:value-of select="concat(type, ' ', name, argsstring)"/>
    <xsl:if test="string-length(initializer) &lt; 60 and starts-with(initializer, '=')"><xsl:value-of select="concat(' ', initializer)"/></xsl:if>
  </xsl:template>
  <xsl:template match="memberdef" mode="signature">
    <xsl:apply-templates select="templateparamlist" mode="signature"/>
    <xsl:if test="@static = 'yes' and contains(definition, 'static ')">static </xsl:if>
    <xsl:if test="@explicit = 'yes'">explicit </xsl:if>
    <xsl:if test="@kind = 'friend'">friend </xsl:if>
    <xsl:value-of select="concat(type, ' ', name, argsstring)"/>
    <!-- Sphinx does not read a requirement in a requirement. -->
    <xsl:if test="requiresclause and not(contains(requiresclause, 'requires'))"><xsl:value-of select="concat(' requires ', requiresclause)"/></xsl:if>
  </xsl:template>

  <!-- Entries. -->
  <xsl:template match="item">
    <xsl:param name="indent"/>
    <xsl:variable name="directive" select="concat('.. cpp:', @kind, ':: ')"/>
    <xsl:if test="$indent = ''"><xsl:value-of select="concat('.. cpp:namespace:: ', @scope, $newline)"/>
      <xsl:if test="@scope = ''"><xsl:value-of select="concat('   NULL', $newline)"/></xsl:if>
      <xsl:value-of select="$newline"/></xsl:if>
    <xsl:value-of select="concat($indent, $directive, @signature, $newline)"/>
    <xsl:call-template name="joined"><xsl:with-param name="item" select="following-sibling::item[1]"/>
      <xsl:with-param name="indent" select="concat($indent, str:padding(string-length($directive)))"/></xsl:call-template>
    <xsl:value-of select="$newline"/>
    <xsl:variable name="inner" select="concat($indent, '   ')"/>
    <xsl:apply-templates select="*/*[self::briefdescription or self::detaileddescription]/*"><xsl:with-param name="indent" select="$inner"/></xsl:apply-templates>
    <xsl:for-each select="memberdef/enumvalue">
      <xsl:value-of select="concat($inner, '.. cpp:enumerator:: ', name, $newline, $newline)"/>
      <xsl:apply-templates select="briefdescription/* | detaileddescription/*"><xsl:with-param name="indent" select="concat($inner, '   ')"/></xsl:apply-templates>
    </xsl:for-each>
    <xsl:for-each select="compounddef[@kind != 'concept']">
      <xsl:variable name="items"><xsl:call-template name="items"><xsl:with-param name="file" select="location/@file"/></xsl:call-template></xsl:variable>
      <xsl:apply-templates select="exsl:node-set($items)/item[not(@joins)]"><xsl:with-param name="indent" select="$inner"/></xsl:apply-templates>
    </xsl:for-each>
  </xsl:template>
  <xsl:template name="joined">
    <xsl:param name="item"/>
    <xsl:param name="indent"/>
    <xsl:if test="$item/@joins">
      <xsl:value-of select="concat($indent, $item/@signature, $newline)"/>
      <xsl:call-template name="joined"><xsl:with-param name="item" select="$item/following-sibling::item[1]"/><xsl:with-param name="indent" select="$indent"/></xsl:call-template>
    </xsl:if>
  </xsl:template>

  <!-- Text. -->
  <xsl:template match="para">
    <xsl:param name="indent"/>
    <xsl:variable name="blocks" select="programlisting | itemizedlist"/>
    <xsl:for-each select=". | $blocks">
      <xsl:variable name="k" select="position() - 1"/>
      <xsl:if test="$k &gt; 0"><xsl:apply-templates select="."><xsl:with-param name="indent" select="$indent"/></xsl:apply-templates></xsl:if>
      <xsl:variable name="para" select="ancestor-or-self::para[last()]"/>
      <xsl:variable name="text">
        <xsl:apply-templates select="$para/node()[not(self::programlisting or self::itemizedlist)][count(preceding-sibling::programlisting | preceding-sibling::itemizedlist) = $k]"/>
      </xsl:variable>
      <xsl:if test="normalize-space($text)"><xsl:value-of select="concat($indent, normalize-space($text), $newline, $newline)"/></xsl:if>
    </xsl:for-each>
  </xsl:template>
  <xsl:template match="itemizedlist">
    <xsl:param name="indent"/>
    <xsl:for-each select="listitem/para">
      <xsl:variable name="text"><xsl:apply-templates/></xsl:variable>
      <xsl:value-of select="concat($indent, '* ', normalize-space($text), $newline)"/>
    </xsl:for-each>
    <xsl:value-of select="$newline"/>
  </xsl:template>
  <xsl:template match="programlisting">
    <xsl:param name="indent"/>
    <xsl:value-of select="concat($indent, '.. code-block:: cpp', $newline, $indent, '   :force:', $newline, $newline)"/>
    <xsl:for-each select="codeline">
      <xsl:variable name="text"><xsl:apply-templates mode="code"/></xsl:variable>
      <xsl:value-of select="concat($indent, '   ', $text, $newline)"/>
    </xsl:for-each>
    <xsl:value-of select="$newline"/>
  </xsl:template>
  <xsl:template match="sp" mode="code"><xsl:text> </xsl:text></xsl:template>
  <!-- Inline code needs a blank or punctuation on both sides, or an empty word. -->
  <xsl:template match="computeroutput">
    <xsl:variable name="before" select="translate(preceding-sibling::node()[1], $newline, ' ')"/>
    <xsl:variable name="after" select="translate(substring(following-sibling::node()[1], 1, 1), $newline, ' ')"/>
    <xsl:if test="$before != '' and not(contains(' (', substring($before, string-length($before))))">\ </xsl:if>
    <xsl:value-of select="concat('``', ., '``')"/>
    <xsl:if test="not(contains(' .,;)?!', $after))">\ </xsl:if>
  </xsl:template>
  <xsl:template match="emphasis | bold | ref | ulink"><xsl:apply-templates/></xsl:template>
  <xsl:template match="ndash">--</xsl:template>
  <xsl:template match="nonbreakablespace"><xsl:text> </xsl:text></xsl:template>
  <xsl:template match="text()">
    <xsl:variable name="a" select="str:replace(string(.), '\', '\\')"/>
    <xsl:variable name="b" select="str:replace($a, '*', '\*')"/>
    <xsl:variable name="c" select="str:replace($b, '_', '\_')"/>
    <xsl:variable name="d" select="str:replace($c, '`', '\`')"/>
    <xsl:value-of select="str:replace(str:replace($d, '|', '\|'), ':', '\:')"/>
  </xsl:template>
</xsl:stylesheet>
